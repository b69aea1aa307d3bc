"""What Python does with a number: each use gives another result for n == 7 than for every other n of 0..9.

A use is an expression in `n`, or a block of statements that sets `result`.
"""

from __future__ import annotations

ARITHMETIC = {
    f"{kind}_{name}_{number}": template.format(operator=operator, other=other)
    for kind, template in {
        "left": "n {operator} {other}",
        "right": "{other} {operator} n",
        "in_place": "result = n\nresult {operator}= {other}",
        "onto": "result = {other}\nresult {operator}= n",
    }.items()
    for name, operator in {"plus": "+", "minus": "-", "times": "*"}.items()
    for number, other in {
        "int": "3",
        "bool": "True",
        "float": "1.5",
        "fraction": "Fraction(1, 3)",
        "decimal": 'Decimal("0.5")',
        "complex": "(1 + 2j)",
        "big": "10**30",
        "itself": "(n * 2)",
    }.items()
}

DIVISION = {
    "true_left": "n / 4",
    "true_right": "84 / (n + 1)",
    "true_in_place": "result = n\nresult /= 2",
    "true_float": "n / 0.5",
    "true_right_float": "1.5 / (n + 1)",
    "true_fraction": "n / Fraction(2, 3)",
    "true_right_fraction": "Fraction(2, 3) / (n + 1)",
    "true_decimal": "n / Decimal(8)",
    "true_right_decimal": "Decimal(8) / (n + 1)",
    "true_big": "(n * 10**40) / 10**39",
    "floor": "((n + 3) // 10, n // 8)",
    "floor_right": "(56 // (n + 1), n)[0] if n > 6 and n < 9 else None",
    "floor_negative": "(n // -7, (n - 8) // -9, (n - 7) // 8, n)",
    "floor_float": "(n // 7.0, n // 8.0)",
    "floor_right_float": "(7.5 // (n + 1), 8.5 // (n + 1), n > 6)",
    "floor_fraction": "n // Fraction(1, 2)",
    "floor_right_fraction": "(Fraction(15, 2) // (n + 1), Fraction(17, 2) // (n + 1), n > 6)",
    "floor_decimal": "n // Decimal('0.5')",
    "floor_in_place": "result = n + 1\nresult //= 8\nresult = (result, n // 8)",
    "floor_big": "(n * 10**30) // 10**30",
    "modulo": "n % 11",
    "modulo_right": "(100 % (n + 1), 66 % (n + 2), 67 % (n + 3))",
    "modulo_negative": "n % -11",
    "modulo_float": "n % 10.5",
    "modulo_right_float": "10.5 % (n + 1), n > 5",
    "modulo_fraction": "n % Fraction(21, 2)",
    "modulo_decimal": "n % Decimal(11)",
    "modulo_in_place": "result = n\nresult %= 10",
    "modulo_symbolic": "((n + 1) % (n - 6) if n > 6 else -1, n)[0] if n < 8 else -1",
    "divmod_left": "divmod(n + 3, 10), n // 8",
    "divmod_right": "divmod(100, n + 1)",
    "divmod_float": "divmod(n, 2.5)",
    "divmod_right_float": "divmod(100.5, n + 1)",
    "divmod_fraction": "divmod(n, Fraction(5, 2))",
    "divmod_decimal": "divmod(n, Decimal(3))",
    "divmod_symbolic": "divmod(n * 10, n + 3)",
    "division_by_zero": """
try:
    result = 1 // (n - 7)
except ZeroDivisionError as error:
    result = str(error)
""",
    "true_division_by_zero": """
try:
    result = 1 / (n - 7)
except ZeroDivisionError as error:
    result = str(error)
""",
    "modulo_by_zero": """
try:
    result = 1 % (n - 7)
except ZeroDivisionError as error:
    result = "zero"
""",
}

POWERS = {
    "power": "n ** 2",
    "power_right": "2 ** n",
    "power_negative": "(n + 1) ** -1",
    "power_right_negative": "2 ** -n",
    "power_float": "n ** 0.5",
    "power_right_float": "2.5 ** n",
    "power_fraction": "n ** Fraction(1, 2)",
    "power_right_fraction": "Fraction(1, 2) ** n",
    "power_decimal": "n ** Decimal(2)",
    "power_right_decimal": "Decimal(2) ** n",
    "power_complex": "n ** 2j if n else 0",
    "power_symbolic": "n ** n",
    "power_in_place": "result = n\nresult **= 3",
    "power_onto": "result = 3\nresult **= n",
    "pow_two": "pow(n, 3)",
    "pow_two_right": "pow(3, n)",
    "pow_modulo": "pow(n, 1, 10)",
    "pow_modulo_exponent": "pow(3, n, 1000)",
    "pow_modulo_modulus": "pow(7, 3, n + 100)",
    "pow_inverse": "pow(n + 1, -1, 11)",
    "pow_zero_modulus": """
try:
    result = pow(2, 3, n - 7)
except ValueError as error:
    result = str(error)
""",
    "power_bool": "True ** n, n * True ** n",
    "abs_value": "abs(n - 7)",
    "negation": "-n",
    "plus": "+n",
    "inversion": "~n",
    "round_plain": "round(n)",
    "round_digits": "round(n + 8, -1), n < 8, n > 6",
    "round_none": "round(n, None)",
    "round_symbolic_digits": "round(12345.6789, n - 5)",
    "round_of_quotient": "round(n / 3, 2)",
    "math_trunc": "math.trunc(n)",
    "math_floor": "math.floor(n)",
    "math_ceil": "math.ceil(n)",
}

BITS = {
    "and_mask": "n & 7",
    "and_right": "7 & n",
    "and_negative": "n & -1",
    "and_symbolic": "n & (n + 1), n",
    "or_mask": "n | 16",
    "or_right": "16 | n",
    "or_negative": "n | -16",
    "or_symbolic": "n | (n + 1), n",
    "xor_mask": "n ^ 5",
    "xor_right": "5 ^ n",
    "xor_negative": "n ^ -1",
    "xor_symbolic": "n ^ (n * 2)",
    "and_bool": "(n == 7) & True",
    "or_bool": "(n != 7) | False",
    "xor_bool": "(n == 7) ^ True",
    "and_of_bool_and_int": "(n == 7) & 1",
    "or_of_int_and_bool": "6 | (n == 7)",
    "and_in_place": "result = n\nresult &= 15",
    "or_in_place": "result = n\nresult |= 32",
    "xor_in_place": "result = n\nresult ^= 3",
    "and_onto": "result = 15\nresult &= n",
    "shift_left": "n << 2",
    "shift_right": "(n + 1) >> 3, n >> 3",
    "shift_by": "1 << n",
    "shift_big_by": "(1 << 40) >> n",
    "shift_symbolic": "n << n",
    "shift_in_place": "result = n\nresult <<= 1",
    "shift_onto": "result = 1\nresult <<= n",
    "shift_negative": """
try:
    result = 1 << (6 - n)
except ValueError:
    result = (n < 8, "negative")
""",
    "bit_length": "(n + 57).bit_length(), (n + 56).bit_length()",
    "bit_count": "n.bit_count(), n < 8",
    "to_bytes": "n.to_bytes(2, 'big')",
    "from_bytes": "int.from_bytes(bytes([n, 0]), 'little')",
    "ratio": "n.as_integer_ratio()",
    "numerator": "n.numerator, n.denominator, n.real, n.imag",
    "conjugate": "n.conjugate()",
    "inverted_bool": "-1 - int(n == 7)",
}

COMPARISONS = {
    "equal": "n == 7",
    "equal_right": "7 == n",
    "unequal": "n != 7",
    "chained": "6 < n < 8",
    "chained_three": "0 < 6 < n <= 7 < 9",
    "chained_equal": "n == 7 == n",
    "with_float": "6.5 < n < 7.5",
    "equal_float": "n == 7.0",
    "with_infinity": "n < math.inf, n > -math.inf, n == 7",
    "with_nan": "n < math.nan, n == math.nan, n != math.nan, n == 7",
    "with_fraction": "Fraction(13, 2) < n < Fraction(15, 2)",
    "equal_fraction": "n == Fraction(7)",
    "fraction_equal": "Fraction(7) == n",
    "with_decimal": "Decimal('6.5') < n < Decimal('7.5')",
    "equal_decimal": "Decimal(7) == n",
    "equal_complex": "n == 7 + 0j",
    "with_big": "n * 10**30 > 65 * 10**29, n * 10**30 < 75 * 10**29",
    "with_bool": "(n - 6 == True)",
    "bool_ordered": "(n < 8) > (n < 7)",
    "with_none": "n == None, n == 7",
    "with_text": "n == '7', n == 7",
    "with_list": "n == [7], n == 7",
    "unordered": """
try:
    result = n < "7"
except TypeError:
    result = n == 7
""",
    "truth": "bool(n - 7)",
    "not_truth": "not (n - 7)",
    "and_values": "(n - 7) and 5",
    "or_values": "(n - 7) or 5, n == 7",
    "conditional": "'yes' if n == 7 else 'no'",
    "conditional_truth": "0 if n - 7 else 1",
    "walrus": "(m := n + 1) == 8, m",
    "walrus_condition": "result = 0\nif (m := n * 2) == 14:\n    result = m",
    "is_true": "(n == 7) is True",
    "is_false": "(n == 7) is False",
    "is_not_true": "(n == 7) is not True",
    "is_number": "n is 7",
    "is_number_on_the_left": "7 is n",
    "is_truth_of_values": "(n == 7) is (n > 6), n > 6",
    "is_chained": "True is (n == 7) is True",
    "is_none": "n is None, n == 7",
    "is_not_none": "n is not None, n == 7",
    "is_itself": "n is n, n == 7",
    "bool_equal_bool": "(n == 7) == True",
    "bool_unequal_bool": "(n == 7) != False",
    "bool_of_bool": "bool(n == 7)",
    "any_of": "any([n == 7, n == 17])",
    "any_of_generator": "any(n == m for m in (7, 17))",
    "all_of": "all([n > 6, n < 8])",
    "all_of_generator": "all(m != n for m in (7, 17))",
    "assertion": """
try:
    assert n != 7
    result = 0
except AssertionError:
    result = 1
""",
    "while_loop": "result = 0\nwhile result < n:\n    result += 1",
    "if_elif": """
if n < 7:
    result = 1
elif n > 7:
    result = 2
else:
    result = 3
""",
}

MEMBERSHIP = {
    "in_list": "n in [7, 11]",
    "in_tuple": "n in (7, 11)",
    "in_set": "n in {7, 11}",
    "in_frozenset": "n in frozenset([7, 11])",
    "in_dict": "n in {7: 1}",
    "in_dict_keys": "n in {7: 1}.keys()",
    "in_dict_values": "n in {1: 7}.values()",
    "in_dict_items": "(n, 1) in {7: 1}.items()",
    "in_range": "n in range(7, 8)",
    "in_stepped_range": "n in range(0, 20, 7), n",
    "in_symbolic_range": "3 in range(n - 4, n - 3)",
    "in_bytes": "n in b'\\x07'",
    "in_generator": "n in (m for m in (7, 11))",
    "in_deque": "n in deque([7, 11])",
    "in_text": "str(n) in '7'",
    "not_in_list": "n not in [0, 1, 2, 3, 4, 5, 6, 8, 9]",
    "held_in_list": "7 in [n, 11]",
    "held_in_set": "7 in {n, 11}",
    "held_in_tuple": "7 in (n,)",
    "held_in_dict": "7 in {n: 1}",
    "tuple_in_list": "(n, 1) in [(7, 1)]",
    "tuple_in_set": "(n, 1) in {(7, 1)}",
    "list_index": "[9, 8, 7, 6, 5, 4, 3, 2, 1, 0].index(n)",
    "list_count": "[7, 7, 8, 7].count(n)",
    "list_remove": "result = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]\nresult.remove(n)",
    "tuple_index": "(9, 8, 7, 6, 5, 4, 3, 2, 1, 0).index(n)",
    "tuple_count": "(7, 7).count(n)",
    "index_of_plain": "[n, 7].index(7)",
}

INDEXING = {
    "list_item": "[0, 0, 0, 0, 0, 0, 0, 1, 0, 0][n]",
    "tuple_item": "(0, 0, 0, 0, 0, 0, 0, 1, 0, 0)[n]",
    "negative_item": "list(range(10))[n - 10]",
    "text_item": "'abcdefghij'[n]",
    "bytes_item": "b'abcdefghij'[n]",
    "range_item": "range(100)[n]",
    "item_out_of_range": """
try:
    result = [0] * 7
    result = result[n - 7] if n >= 7 else result[n]
    result = list(range(8))[n]
except IndexError:
    result = "beyond"
""",
    "list_store": "result = [0] * 10\nresult[n] = 1",
    "list_delete": "result = list(range(10))\ndel result[n]",
    "list_in_place": "result = [0] * 10\nresult[n] += 1",
    "slice_start": "'abcdefghij'[n:]",
    "slice_stop": "'abcdefghij'[:n]",
    "slice_step": "'abcdefghijklmnopqrst'[::n + 1]",
    "list_slice": "list(range(10))[n:]",
    "list_slice_stop": "list(range(10))[:n]",
    "list_slice_step": "list(range(100))[::n + 1]",
    "slice_store": "result = list(range(10))\nresult[n:] = [0]",
    "slice_delete": "result = list(range(10))\ndel result[:n]",
    "slice_object": "list(range(10))[slice(n, n + 1)]",
    "tuple_slice": "tuple(range(10))[1:n]",
    "dict_key": "{m: m for m in range(10)}[n]",
    "dict_get": "{7: 1}.get(n)",
    "dict_get_default": "{7: 1}.get(n, 0)",
    "dict_missing": """
try:
    result = {7: 1}[n]
except KeyError as error:
    result = 0
""",
    "dict_missing_key": """
try:
    result = dict.fromkeys([0, 1, 2, 3, 4, 5, 6, 8, 9])[n]
except KeyError as error:
    result = error.args
""",
    "dict_store": "result = {}\nresult[n] = 1",
    "dict_store_twice": "result = {7: 0}\nresult[n] = 1\nresult = len(result)",
    "dict_delete": "result = {m: m for m in range(10)}\ndel result[n]",
    "dict_pop": "{m: m for m in range(10)}.pop(n)",
    "dict_pop_default": "{7: 1}.pop(n, None)",
    "dict_setdefault": "result = {7: 1}\nresult.setdefault(n, 2)\nresult = len(result)",
    "dict_update": "result = {7: 1}\nresult.update({n: 1})\nresult = len(result)",
    "dict_display": "len({7: 1, n: 1})",
    "dict_comprehension": "len({m: 1 for m in (7, n)})",
    "dict_from_pairs": "len(dict([(7, 1), (n, 2)]))",
    "dict_fromkeys": "len(dict.fromkeys([7, n]))",
    "dict_merge": "len({7: 1} | {n: 1})",
    "dict_tuple_key": "{(7, 1): 1}.get((n, 1))",
    "dict_nested_key": "{((7, 1), 1): 1}.get(((n, 1), 1))",
    "dict_value": "{1: n}[1]",
    "dict_equal": "{1: n} == {1: 7}",
    "default_dict": "result = defaultdict(int)\nresult[n] += 1\nresult = dict(result)",
    "ordered_dict": "list(OrderedDict([(n, 1), (7, 2)]))",
    "counter": "Counter([7, n])[7]",
    "chain_map": "ChainMap({7: 1}, {n: 2})[n]",
    "set_add": "result = {7}\nresult.add(n)\nresult = len(result)",
    "set_display": "len({7, n})",
    "set_comprehension": "len({m for m in (7, n)})",
    "set_of_list": "len(set([7, n]))",
    "frozenset_of_list": "len(frozenset([7, n]))",
    "set_discard": "result = {7}\nresult.discard(n)\nresult = len(result)",
    "set_union": "len({7} | {n})",
    "set_intersection": "len({7} & {n})",
    "set_difference": "len({7} - {n})",
    "set_symmetric_difference": "len({7} ^ {n})",
    "set_update": "result = {7}\nresult.update([n])\nresult = len(result)",
    "set_equal": "{7} == {n}",
    "set_subset": "{n} <= {7}",
    "list_of_lists": "[[0], [1]][n == 7][0]",
    "getitem": "operator.getitem([0, 0, 0, 0, 0, 0, 0, 1, 0, 0], n)",
    "itemgetter": "operator.itemgetter(n)([0, 0, 0, 0, 0, 0, 0, 1, 0, 0])",
    "list_insert": "result = [0] * 9\nresult.insert(n, 1)",
    "list_pop": "list(range(10)).pop(n)",
    "list_append": "result = []\nresult.append(n)",
    "list_extend": "result = []\nresult.extend([n])",
    "list_equal": "[n, 1] == [7, 1]",
    "list_less": "[n, 1] < [7, 1], [n] > [7]",
    "tuple_equal": "(n, 1) == (7, 1)",
    "tuple_less": "(n, 2) > (7, 1), (n, 0) < (7, 1)",
    "unpacking": "a, *b = [n, 1]\nresult = a",
}

SEQUENCES = {
    "range_stop": "list(range(n))",
    "range_start": "list(range(n, 10))",
    "range_step": "list(range(0, 100, n + 1))",
    "range_length": "len(range(n))",
    "range_loop": "result = 0\nfor m in range(n):\n    result += m",
    "range_sum": "sum(range(n + 1))",
    "enumerate_start": "list(enumerate('a', n))",
    "enumerate_keyword": "list(enumerate('a', start=n))",
    "zip_strict": "list(zip(range(n), range(n)))",
    "list_times": "[1] * n",
    "times_list": "n * [1]",
    "list_in_place_times": "result = [1]\nresult *= n",
    "tuple_times": "(1,) * n",
    "text_times": "'x' * n",
    "times_text": "n * 'x'",
    "bytes_times": "b'x' * n",
    "bytes_of": "bytes(n)",
    "bytes_of_list": "bytes([n])",
    "bytearray_of": "bytearray(n)",
    "bytearray_append": "result = bytearray()\nresult.append(n)",
    "array_of": "array('i', [n]).tolist()",
    "sorted_list": "sorted([n, 7]), sorted([7, n + 0.5])",
    "sorted_reverse": "sorted([n, 6.5, 7.5], reverse=True)",
    "sorted_key": "sorted([6, 8], key=lambda m: (m - n) * (m - n) * (8 - n), reverse=False), n == 7",
    "sort_by_key": "result = [3, 1, 2]\nresult.sort(key=lambda m: m * (n - 7))",
    "sort_in_place": "result = [n, 6.5, 7.5]\nresult.sort()",
    "sort_pairs": "sorted([(n, 1), (7, 0), (6, 2), (8, 1)])",
    "minimum": "min(n, 7), min(n, 8)",
    "maximum": "max([n, 7]), max([n, 6])",
    "minimum_key": "min([6, 7, 8], key=lambda m: abs(m - n)), 5 < n < 8, n > 6",
    "maximum_default": "max((m for m in [n]), default=0)",
    "sum_list": "sum([n, 1])",
    "sum_start": "sum([1, 2], n)",
    "sum_bools": "sum([n == 7, n > 6, n < 8])",
    "product": "math.prod([n, 2])",
    "reduce": "functools.reduce(operator.add, [n, 1, 2])",
    "accumulate": "list(itertools.accumulate([n, 1]))",
    "islice": "list(itertools.islice(itertools.count(), n))",
    "repeat": "list(itertools.repeat(1, n))",
    "count_from": "next(itertools.count(n))",
    "combinations": "len(list(itertools.combinations(range(9), n))), n > 5",
    "takewhile": "list(itertools.takewhile(lambda m: m < n, range(20)))",
    "groupby": "[len(list(group)) for _, group in itertools.groupby([7, n, 7])]",
    "comprehension": "[m for m in range(10) if m < n]",
    "comprehension_condition": "[m for m in (6, 7, 8) if m == n and n == 7]",
    "nested_comprehension": "[m * k for m in range(n) for k in range(2)]",
    "generator": "list(m * n for m in (1, 2))",
    "map_values": "list(map(lambda m: m + n, [1]))",
    "filter_values": "list(filter(lambda m: m == n, [7]))",
    "reversed_values": "list(reversed([n, 1]))",
    "deque_length": "list(deque(range(20), maxlen=n))",
    "deque_positional": "list(deque(range(20), n))",
    "deque_rotate": "result = deque(range(10))\nresult.rotate(n)\nresult = list(result)",
    "deque_item": "deque(range(10))[n]",
    "deque_maxlen": "deque([], maxlen=n).maxlen",
    "heap": """
kept = []
for m in (8, n, 6.5):
    heapq.heappush(kept, m)
result = [heapq.heappop(kept) for _ in range(3)]
""",
    "heapify": "result = [8, n, 6.5]\nheapq.heapify(result)\nresult = heapq.heappop(result), len(result), n == 7",
    "heap_replace": "heapq.heapreplace([6.5, 9], n), n == 7",
    "heap_pushpop": "heapq.heappushpop([7.5], n), n > 6",
    "heap_smallest": "heapq.nsmallest(2, [n, 6.5, 7.5])",
    "heap_smallest_count": "heapq.nsmallest(n, range(20))",
    "heap_merge": "list(heapq.merge([n], [6.5, 7.5]))",
    "bisect_left": "bisect.bisect_left([6.5, 7.5], n)",
    "bisect_right": "bisect.bisect([7, 8], n), bisect.bisect([6, 7], n)",
    "bisect_range": "bisect.bisect_left(range(100), n)",
    "bisect_in": "bisect.bisect_left([n, 20], 7), bisect.bisect_left([n, 20], 8)",
    "insort": "result = [6.5, 7.5]\nbisect.insort(result, n)",
}

TEXTS = {
    "str": "str(n)",
    "repr": "repr(n)",
    "ascii": "ascii(n)",
    "format": "format(n)",
    "format_specification": "format(n, '03d')",
    "format_hexadecimal": "format(n, 'x')",
    "format_float": "format(n, '.2f')",
    "formatted": "f'{n}'",
    "formatted_specification": "f'{n:>4}'",
    "formatted_repr": "f'{n!r}'",
    "formatted_expression": "f'{n + 1}'",
    "formatted_equal": "f'{n=}'",
    "formatted_width": "f'{1:>{n + 1}}'",
    "percent": "'%d' % n",
    "percent_tuple": "'%s %05d' % (n, n)",
    "percent_float": "'%.1f' % n",
    "percent_character": "'%c' % (n + 48)",
    "percent_hexadecimal": "'%x' % n",
    "percent_dict": "'%(n)d' % {'n': n}",
    "percent_width": "'%*d' % (n + 1, 1)",
    "percent_bytes": "b'%d' % n",
    "str_format": "'{}'.format(n)",
    "str_format_named": "'{n:d}'.format(n=n)",
    "str_of_list": "str([n, 1])",
    "repr_of_dict": "repr({1: n})",
    "formatted_list": "f'{[n]}'",
    "join": "','.join(str(m) for m in (n, 1))",
    "hexadecimal": "hex(n)",
    "octal": "oct(n)",
    "binary": "bin(n)",
    "character": "chr(n + 48)",
    "str_zfill": "'1'.zfill(n)",
    "str_rjust": "'1'.rjust(n)",
    "str_center": "'1'.center(n + 2, '-')",
    "str_split": "len('a b c d e f g h i j k l m'.split(' ', n))",
    "str_find": "'aaaaaaaaaaaaaaa'.find('a', n)",
    "str_replace": "'aaaaaaaaaa'.replace('a', 'b', n)",
    "str_translate": "'a'.translate({97: n + 97})",
    "str_expandtabs": "'a\\tb'.expandtabs(n + 2)",
    "template": "string.Template('$n').substitute(n=n)",
    "bool_text": "str(n == 7)",
    "bool_formatted": "f'{n == 7}'",
    "json": "json.dumps(n)",
    "json_list": "json.dumps([n, 1])",
    "json_dict": "json.dumps({'n': n})",
    "json_key": "json.dumps({n: 1})",
    "json_bool": "json.dumps(n == 7)",
    "json_indent": "json.dumps([1], indent=n)",
    "json_nested": "json.dumps({'a': [{'b': (n, 1)}]})",
    "struct_pack": "struct.pack('<i', n)",
    "struct_pack_bool": "struct.pack('?', n == 7)",
    "pickle": "pickle.loads(pickle.dumps(n))",
    "pickle_list": "pickle.loads(pickle.dumps([n]))",
    "pickle_bool": "pickle.loads(pickle.dumps(n == 7))",
    "marshal": "marshal.loads(marshal.dumps(n))",
    "literal": "ast.literal_eval(str(n))",
    "textwrap": "textwrap.shorten('a b c d e f g h i', n + 5), n == 7",
    "print_to": "result = io.StringIO()\nprint(n, file=result)\nresult = result.getvalue()",
    "print_end": "result = io.StringIO()\nprint('a', end='x' * n, file=result)\nresult = result.getvalue()",
    "writelines": "result = io.StringIO()\nresult.write('x' * n)\nresult = result.getvalue()",
    "regular_expression": "re.match('7', str(n)) is not None",
    "regular_expression_count": "re.sub('a', 'b', 'a' * 12, count=n)",
}

CONVERSIONS = {
    "int": "int(n)",
    "int_of_bool": "int(n == 7)",
    "float": "float(n)",
    "complex": "complex(n)",
    "complex_two": "complex(n, n)",
    "bool": "bool(n - 7)",
    "hash": "hash(n)",
    "hash_tuple": "hash((n, 1))",
    "index": "operator.index(n)",
    "index_method": "n.__index__()",
    "int_method": "n.__int__()",
    "add_method": "n.__add__(1)",
    "int_add": "int.__add__(n, 1)",
    "int_equal": "int.__eq__(n, 7)",
    "fraction": "Fraction(n)",
    "fraction_two": "Fraction(n + 1, 3)",
    "fraction_denominator": "Fraction(1, n + 1)",
    "decimal": "Decimal(n)",
    "decimal_quantize": "Decimal(n).quantize(Decimal('0.1'))",
    "int_base": "int('11', n + 2)",
    "int_text": "int(str(n))",
    "int_subclass": "Number(n)",
    "int_enumeration": "Digit(n).name",
    "enumeration": "Weekday(n).name if n in (6, 7) else None",
    "flags": "Flags(n)",
    "type": "type(n) is int, n == 7",
    "type_equal": "type(n) == int, n == 7",
    "type_name": "type(n).__name__, n == 7",
    "type_of_bool": "type(n == 7) is bool, n == 7",
    "type_in": "type(n) in (int, float), n == 7",
    "type_key": "{int: 1}.get(type(n)), n == 7",
    "class": "n.__class__ is int, n == 7",
    "isinstance": "isinstance(n, int), n == 7",
    "isinstance_tuple": "isinstance(n, (int, str)), n == 7",
    "isinstance_not": "isinstance(n, bool), n == 7",
    "isinstance_bool": "isinstance(n == 7, bool), isinstance(n == 7, int), n == 7",
    "isinstance_number": "isinstance(n, numbers.Integral), n == 7",
    "issubclass": "issubclass(type(n), int), n == 7",
    "callable": "callable(n), n == 7",
    "hasattr": "hasattr(n, 'bit_length'), hasattr(n, 'nothing'), n == 7",
    "single_dispatch": "dispatched(n), n == 7",
    "math_sqrt": "math.sqrt(n)",
    "math_isqrt": "math.isqrt(n * n)",
    "math_gcd": "math.gcd(n, 14), n",
    "math_lcm": "math.lcm(n, 5)",
    "math_factorial": "math.factorial(n)",
    "math_comb": "math.comb(20, n)",
    "math_perm": "math.perm(20, n)",
    "math_log": "math.log(n + 1)",
    "math_sin": "math.sin(n)",
    "math_hypot": "math.hypot(n, 1)",
    "math_pow": "math.pow(n, 2)",
    "math_fsum": "math.fsum([n, 0.5])",
    "math_isclose": "math.isclose(n, 7)",
    "math_ldexp": "math.ldexp(1.0, n)",
    "math_copysign": "math.copysign(n, -1)",
    "math_fmod": "math.fmod(n, 11)",
    "statistics": "statistics.mean([n, 1])",
    "statistics_median": "statistics.median([n, 6.5, 7.5])",
    "cmath": "cmath.sqrt(n)",
    "time_delta": "datetime.timedelta(days=n).days",
    "date": "datetime.date(2020, 1, n + 1).day",
    "random_seed": "random.Random(n).random()",
    "random_range": "random.Random(1).sample(range(20), n)",
    "uuid": "uuid.UUID(int=n).int",
    "ip_address": "str(ipaddress.ip_address(n))",
    "colour": "colorsys.rgb_to_hsv(n, 1, 1)",
}

MATCHING = {
    "match_literal": """
match n:
    case 7:
        result = 1
    case _:
        result = 0
""",
    "match_alternatives": """
match n:
    case 1 | 2 | 3 | 4 | 5 | 6 | 8 | 9 | 0:
        result = 0
    case _:
        result = 1
""",
    "match_guard": """
match n:
    case m if m < 7:
        result = 0
    case m if m > 7:
        result = 1
    case _:
        result = 2
""",
    "match_class": """
match n:
    case bool():
        result = -1
    case int(m) if m == 7:
        result = 1
    case int():
        result = 0
    case _:
        result = -2
""",
    "match_tuple": """
match (n, 1):
    case (7, m):
        result = m
    case _:
        result = 0
""",
    "match_list": """
match [n, 2, 3]:
    case [7, *rest]:
        result = rest
    case _:
        result = 0
""",
    "match_mapping": """
match {"n": n}:
    case {"n": 7}:
        result = 1
    case _:
        result = 0
""",
    "match_dataclass": """
match Point(n, 1):
    case Point(x=7):
        result = 1
    case _:
        result = 0
""",
    "match_value": """
match n:
    case Digit.SEVEN:
        result = 1
    case _:
        result = 0
""",
    "match_bool": """
match n == 7:
    case True:
        result = 1
    case False:
        result = 0
    case _:
        result = 2
""",
}

OBJECTS = {
    "dataclass_equal": "Point(n, 1) == Point(7, 1)",
    "dataclass_less": "Point(n, 2) > Point(7, 1), Point(n, 0) < Point(7, 1)",
    "dataclass_repr": "repr(Point(n, 1))",
    "dataclass_hash": "len({Point(n, 1), Point(7, 1)})",
    "dataclass_replace": "dataclasses.replace(Point(1, 1), x=n)",
    "dataclass_tuple": "dataclasses.astuple(Point(n, 1))",
    "dataclass_dict": "dataclasses.asdict(Point(n, 1))",
    "named_tuple": "Pair(n, 1)",
    "named_tuple_equal": "Pair(n, 1) == Pair(7, 1)",
    "named_tuple_item": "Pair(n, 1).first",
    "default_argument": "result = (lambda m=n: m + 1)()",
    "keyword_argument": "dict(m=n)['m']",
    "star_arguments": "(lambda *numbers: sum(numbers))(n, 1)",
    "closure": "def inner():\n    return n * 2\nresult = inner()",
    "partial": "functools.partial(operator.add, n)(1)",
    "lru_cache": "squared(n)",
    "lru_cache_hits": "squared(7)\nresult = squared(n), squared.cache_info().currsize",
    "cached_twice": "@functools.cache\ndef inner(m):\n    return [m]\nresult = inner(n) is inner(7)",
    "copy": "copy.copy(n)",
    "deep_copy": "copy.deepcopy([n, [n]])",
    "copy_of_bool": "copy.copy(n == 7)",
    "exception_argument": """
try:
    raise ValueError(n)
except ValueError as error:
    result = error.args[0]
""",
    "exception_text": """
try:
    raise ValueError(n)
except ValueError as error:
    result = str(error)
""",
    "exception_formatted": """
try:
    raise ValueError(f"it is {n}")
except ValueError as error:
    result = str(error)
""",
    "exception_made": "result = str(ValueError(n))",
    "exception_attribute": """
try:
    raise Failure(n)
except Failure as error:
    result = error.number
""",
    "exception_group": """
try:
    raise ExceptionGroup("all", [ValueError(n)])
except* ValueError as error:
    result = error.exceptions[0].args
""",
    "assertion_text": """
try:
    assert False, f"{n}"
except AssertionError as error:
    result = str(error)
""",
    "stop_iteration": """
def inner():
    yield 1
    return n
def outer():
    got = yield from inner()
    yield got
result = list(outer())
""",
    "attribute": "result = Box()\nresult.value = n\nresult = result.value",
    "set_attribute": "result = Box()\nsetattr(result, 'value', n)\nresult = getattr(result, 'value')",
    "named_attribute": "result = Box()\nsetattr(result, f'a{n}', 1)\nresult = hasattr(result, 'a7')",
    "simple_namespace": "types.SimpleNamespace(n=n) == types.SimpleNamespace(n=7)",
    "user_operator": "(Vector(n) + Vector(1)).x",
    "user_reflected": "(n * Vector(2)).x",
    "user_comparison": "Vector(n) == Vector(7)",
    "user_key": "len({Vector(n), Vector(7)})",
    "user_index": "[0, 0, 0, 0, 0, 0, 0, 1, 0, 0][Vector(n)]",
    "user_length": "len(Sized(n))",
    "user_truth": "bool(Sized(n - 7 if n > 7 else 7 - n))",
    "user_bool": "bool(Positive(n - 7 if n > 7 else 7 - n))",
    "user_test": "'yes' if Positive(n - 7 if n > 7 else 7 - n) else 'no'",
    "user_int": "int(Positive(n))",
    "user_hash": "hash(Vector(n))",
    "user_format": "f'{Vector(n)}'",
    "context": "result = contextvars.ContextVar('c')\nresult.set(n)\nresult = result.get()",
    "ordering": "Ordered(n) <= Ordered(7), Ordered(n) >= Ordered(7)",
    "weak_reference": "result = Box()\nresult.value = n\nresult = weakref.ref(result)().value",
    "getattr_default": "getattr(n, 'nothing', n)",
    "global_variable": "global KEPT\nKEPT = n\nresult = KEPT",
    "async_result": "async def inner():\n    return n\nresult = asyncio.run(inner())",
    "asynchronous_sleep": "async def inner():\n    await asyncio.sleep(n)\n    return n\nresult = asyncio.run(inner())",
}

THREADING = {
    "semaphore": """
semaphore = threading.Semaphore(n)
result = 0
while semaphore.acquire(blocking=False):
    result += 1
""",
    "bounded_semaphore": """
semaphore = threading.BoundedSemaphore(n + 1)
for _ in range(8):
    semaphore.acquire(blocking=False)
result = semaphore.acquire(blocking=False), n < 8, n > 6
""",
    "semaphore_release": """
semaphore = threading.Semaphore(0)
semaphore.release(n + 1)
result = 0
while semaphore.acquire(blocking=False):
    result += 1
""",
    "barrier": """
result = threading.Barrier(n + 1).parties
""",
    "barrier_wait": "barrier = threading.Barrier(1 + (n > 20))\nresult = barrier.wait(), n",
    "lock_timeout": "lock = threading.Lock()\nresult = lock.acquire(timeout=n + 1), n",
    "lock_blocking": "lock = threading.Lock()\nlock.acquire()\nresult = lock.acquire(n == 20), n",
    "condition_timeout": """
condition = threading.Condition()
with condition:
    result = condition.wait(timeout=n), n
""",
    "event_timeout": "result = threading.Event().wait(n), n",
    "queue_size": """
items = queue.Queue(n + 1)
result = 0
while not items.full():
    items.put(1)
    result += 1
""",
    "queue_item": "items = queue.Queue()\nitems.put(n)\nresult = items.get()",
    "queue_timeout": """
items = queue.Queue()
try:
    result = items.get(timeout=n)
except queue.Empty:
    result = n
""",
    "simple_queue_item": "items = queue.SimpleQueue()\nitems.put(n)\nresult = items.get()",
    "priority_queue": """
items = queue.PriorityQueue()
for m in (7.5, n, 6.5):
    items.put(m)
result = [items.get() for _ in range(3)]
""",
    "sleep": "time.sleep(n)\nresult = n",
    "join_timeout": "thread = dpor.spawn(int)\nthread.join()\nthread.join(n)\nresult = n",
    "timer": "made = threading.Timer(n, int)\nmade.start()\nmade.join()\nresult = made.interval",
    "thread_argument": """
kept = []
thread = threading.Thread(target=kept.append, args=(n,))
thread.start()
thread.join()
result = kept
""",
    "thread_name": "result = threading.Thread(name=f't{n}', target=int).name",
    "thread_local": "kept = threading.local()\nkept.value = n\nresult = kept.value",
    "pool": """
with ThreadPoolExecutor(1) as pool:
    result = pool.submit(pow, n, 2).result()
""",
    "pool_size": """
with ThreadPoolExecutor(1 + (n > 20)) as pool:
    result = pool.submit(int, n).result()
""",
    "atomic": "cell = dpor.Atomic(n)\nresult = cell.load()",
    "atomic_add": "cell = dpor.Atomic(1)\ncell.fetch_add(n)\nresult = cell.load()",
    "atomic_subtract": "cell = dpor.Atomic(1)\ncell.fetch_sub(n)\nresult = cell.load()",
    "atomic_or": "cell = dpor.Atomic(16)\ncell.fetch_or(n)\nresult = cell.load()",
    "atomic_and": "cell = dpor.Atomic(15)\ncell.fetch_and(n)\nresult = cell.load()",
    "atomic_exchange": "cell = dpor.Atomic(1)\ncell.exchange(n)\nresult = cell.load()",
    "atomic_expected": "cell = dpor.Atomic(7)\nresult = cell.compare_exchange(n, 1)",
    "atomic_held": "cell = dpor.Atomic(n)\nresult = cell.compare_exchange(7, 1)",
    "atomic_both": "cell = dpor.Atomic(n + 1)\nresult = cell.compare_exchange(2 * n - 6, 1)",
    "atomic_desired": "cell = dpor.Atomic(1)\ncell.compare_exchange(1, n)\nresult = cell.load()",
    "chosen": "result = dpor.choose([n])",
    "chosen_count": "result = n, len(range(n))",
    "assumed": "dpor.assume(n > 6)\nresult = n",
    "waited": "box = Box()\nbox.value = 1\ndpor.wait_until(lambda: box.value == 1)\nresult = n",
    "shadowed": "with threading.Lock():\n    result = n + 1",
}

USES: dict[str, str] = {
    **ARITHMETIC,
    **{f"divide_{name}": text for name, text in DIVISION.items()},
    **POWERS,
    **{f"bits_{name}": text for name, text in BITS.items()},
    **{f"compare_{name}": text for name, text in COMPARISONS.items()},
    **{f"member_{name}": text for name, text in MEMBERSHIP.items()},
    **{f"index_{name}": text for name, text in INDEXING.items()},
    **{f"sequence_{name}": text for name, text in SEQUENCES.items()},
    **{f"text_{name}": text for name, text in TEXTS.items()},
    **{f"convert_{name}": text for name, text in CONVERSIONS.items()},
    **MATCHING,
    **{f"object_{name}": text for name, text in OBJECTS.items()},
    **{f"thread_{name}": text for name, text in THREADING.items()},
}

REFUSED = {"divide_true_big": "DPOR115"}
"""Uses that need a number where an assumption alone bounds what goes into a large one, and the code that says so."""
