"""What a program of one thread sees of itself is what it sees in plain Python, where each program runs too."""

from __future__ import annotations

import textwrap

import pytest

from dpor.checking import check_model
from dpor.results import CheckRequest, Verdict

PROGRAMS = {
    "an operator in place, of a class with code for it": """
        class Updated:
            def __init__(self): self.parts = []
            def __imod__(self, other): return "imod"
            def __iadd__(self, other): return "iadd"
            def __getitem__(self, key): return 5
        for operand in 5, [5], Updated():
            updated = Updated()
            updated %= operand
            assert updated == "imod"
            updated = Updated()
            updated += operand
            assert updated == "iadd"
        text = "%s"
        text %= [1]
        assert text == "[1]"
    """,
    "an object that has one like it for __call__": """
        class Endless: pass
        Endless.__call__ = Endless()
        try:
            Endless()()
        except RecursionError as error:
            assert "maximum recursion depth exceeded" in str(error)
        else:
            raise AssertionError("it ended")
    """,
    "a metaclass whose mro() looks at the class that is being made": """
        looked = []
        class Meta(type):
            def mro(cls):
                looked.append(getattr(cls, "kind", None))
                looked.append([base.__name__ for base in cls.__bases__])
                looked.append(cls.__mro__)
                return super().mro()
        class Base:
            kind = "base"
        class Made(Base, metaclass=Meta):
            pass
        assert looked == [None, ["Base"], None], looked
    """,
}


def model(program: str) -> str:
    return f"import dpor\n\n\n@dpor.model\ndef model():\n{textwrap.indent(textwrap.dedent(program), '    ')}"


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_sees_what_it_sees_in_plain_python(name, tmp_path):
    text = model(PROGRAMS[name])
    plain: dict[str, object] = {}
    exec(compile(text, "plain.py", "exec"), plain)
    plain["model"]()
    file = tmp_path / "model.py"
    file.write_text(text, encoding="utf-8")
    result = check_model(CheckRequest(str(file), "model", str(tmp_path)))
    assert (result.verdict, result.executions) == (Verdict.VERIFIED, 1), result.violations


def test_modules_that_are_loaded_afresh_may_run_code_from_text(tmp_path):
    file = tmp_path / "model.py"
    file.write_text(
        textwrap.dedent(
            """
            import dpor

            class State:
                count = 0

            made = {}
            exec("def added(x):\\n    return x + 1", made)
            number = eval("1 + 1")

            @dpor.model
            def model():
                State.count += number
                assert made["added"](State.count) == 3
                threads = [dpor.spawn(lambda: setattr(State, "count", 0)) for _ in range(2)]
                for thread in threads:
                    thread.join()
            """
        ),
        encoding="utf-8",
    )
    assert check_model(CheckRequest(str(file), "model", str(tmp_path))).verdict is Verdict.VERIFIED
