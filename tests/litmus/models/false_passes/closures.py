"""Variables of an enclosing function that the threads bind, and never read."""

import dpor


@dpor.model(expect="violated")
def closure_variable_that_is_only_stored():
    last = None

    def first():
        nonlocal last
        last = "first"

    def second():
        nonlocal last
        last = "second"

    dpor.spawn(first)
    dpor.spawn(second)
    dpor.join_all()
    assert last == "second"


@dpor.model
def closure_variable_that_is_only_stored_fixed():
    last = None

    def first():
        nonlocal last
        last = "first"

    def second():
        nonlocal last
        last = "second"

    dpor.spawn(first).join()
    dpor.spawn(second)
    dpor.join_all()
    assert last == "second"


@dpor.model(expect="violated")
def closure_variable_that_a_loop_binds():
    last = 0

    def bind(values):
        nonlocal last
        for last in values:  # noqa: B007
            pass

    dpor.spawn(bind, [1])
    dpor.spawn(bind, [2])
    dpor.join_all()
    assert last == 2


@dpor.model
def closure_variable_that_a_loop_binds_fixed():
    last = 0

    def bind(values):
        nonlocal last
        for last in values:  # noqa: B007
            pass

    dpor.spawn(bind, [1])
    dpor.spawn(bind, [2])
    dpor.join_all()
    assert last in (1, 2)


@dpor.model(expect="violated")
def closure_variable_that_is_deleted():
    value = 0

    def delete():
        nonlocal value
        del value

    def store():
        nonlocal value
        value = 1

    dpor.spawn(store)
    dpor.spawn(delete)
    dpor.join_all()
    try:
        found = value
    except NameError:
        found = None
    assert found is None


@dpor.model
def closure_variable_that_is_deleted_fixed():
    value = 0

    def delete():
        nonlocal value
        del value

    def store():
        nonlocal value
        value = 1

    dpor.spawn(store)
    dpor.spawn(delete)
    dpor.join_all()
    try:
        found = value
    except NameError:
        found = None
    assert found in (None, 1)
