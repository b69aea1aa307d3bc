"""Code that built-in code enters under other names than those of special methods, or that became one later."""

from __future__ import annotations

from oracle.tables.kinds import Kind

ENTERED = (
    Kind(
        "keys with lambdas",
        "{Lambda(1): 0, Lambda(2): 1}",
        "sorted((k.n, v) for k, v in s.items())",
        (
            "o.append(s.get(Lambda(2)))",
            "o.append(Lambda(2) in s)",
            "s[Lambda(3)] = 3",
            "o.append(s.pop(Lambda(2), 9))",
            "for k in s: k.n += 1",
            "del s[Lambda(1)]",
            "o.append(s == {Lambda(1): 0, Lambda(2): 1})",
            "o.append(s.setdefault(Lambda(4), 3))",
            "o.append(repr(s))",
        ),
    ),
    Kind(
        "values with lambdas",
        "[Lambda(1), Lambda(2), 3]",
        "repr(s)",
        (
            "o.append(repr(s))",
            "o.append('%s %s' % (s[0], s))",
            "o.append(s.index(3))",
            "o.append(Lambda(2) in s)",
            "o.append(s.count(Lambda(2)))",
            "s[0] = Lambda(3)",
            "s[0].n = 2",
            "s[1] = 3",
            "s.append(Lambda(0))",
            "o.append(s == [Lambda(1), Lambda(2), 3])",
            "o.append(sum(s[:2], 0))",
            "o.append([*map(int, s)])",
            "o.append(max(s[0], s[1], Lambda(1)).n)",
            "s.remove(Lambda(1))",
            "s.sort(key=int)",
        ),
    ),
    Kind(
        "times of zones",
        "[at(1), at(2), at(3)]",
        "[x.hour for x in s]",
        (
            "o.append(max(s).hour)",
            "o.append([x.hour for x in sorted(s)])",
            "o.append(at(3) in s)",
            "o.append(s.index(at(3)))",
            "s[0] = at(9)",
            "s[2] = at(5)",
            "s.append(at(0))",
            "s.sort()",
            "o.append(s == [at(1), at(2), at(3)])",
        ),
    ),
    Kind(
        "rows for a writer",
        "[[1], [2]]",
        "s",
        (
            "w = []; csv.writer(Sink(w)).writerows(s); o.append(w)",
            "w = []; csv.writer(Sink(w)).writerow(s[0]); o.append(w)",
            "w = []; pickle.Pickler(Sink(w)).dump(s); o.append(len(w))",
            "s[0][0] = 5",
            "s[1] = [6]",
            "s.append([3])",
            "del s[0]",
        ),
    ),
    Kind(
        "a mapping of its own",
        "Mapped({'a': 1, 'b': 2})",
        "s.d",
        (
            "o.append(dict(s))",
            "o.append({**s})",
            "o.append('{a}'.format(**s))",
            "s.d['b'] = 5",
            "s.d['c'] = 6",
            "s.d = {'a': 7, 'b': 8}",
            "d = {}; d.update(s); o.append(d)",
        ),
    ),
)
