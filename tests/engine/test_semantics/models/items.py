"""Items and attributes that threads look for while others change many at once."""

import threading

from outcomes import outcome

import dpor

EXPECTED = {
    "popping_until_there_is_one": "verified",
    "popping_what_nobody_stores": ["livelock"],
    "setting_a_default_until_it_is_another": "verified",
    "looking_at_the_last": "verified",
    "looking_at_the_first": "verified",
    "looking_beyond_the_end": "verified",
    "discarding_while_looking": "verified",
    "removing_an_attribute_until_there_is_one": "verified",
    "keys_that_the_model_compares": ["0", "1"],
}


class Key:
    def __init__(self, number):
        self.number = number

    def __hash__(self):
        return hash(self.number)

    def __eq__(self, other):
        return isinstance(other, Key) and self.number == other.number


class Box:
    pass


def run(*functions):
    threads = [threading.Thread(target=function) for function in functions]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


@dpor.model
def popping_until_there_is_one():
    table = {}

    def pop():
        while table.pop("k", None) is None:
            pass

    run(pop, lambda: table.update(k=1))
    assert not table


@dpor.model
def popping_what_nobody_stores():
    table = {}

    def pop():
        while table.pop("k", None) is None:
            pass

    run(pop, lambda: table.update(j=1))


@dpor.model
def setting_a_default_until_it_is_another():
    table = {"k": 0}

    def look():
        while table.setdefault("k", 5) == 0:
            pass

    run(look, lambda: table.update(k=1))


@dpor.model
def looking_at_the_last():
    items = [0]

    def look():
        while items[-1] == 0:
            pass

    run(look, lambda: items.append(1))


@dpor.model
def looking_at_the_first():
    items = [0]

    def look():
        while items[0] == 0:
            pass

    def store():
        items[0:1] = [1]

    run(look, store)


@dpor.model
def looking_beyond_the_end():
    items = [0]

    def look():
        while True:
            try:
                items[1]
            except IndexError:
                continue
            break

    run(look, lambda: items.insert(0, 1))


@dpor.model
def discarding_while_looking():
    found = set()

    def look():
        while True:
            found.discard("a")
            if "b" in found:
                break

    run(look, lambda: found.update("ab"))


@dpor.model
def removing_an_attribute_until_there_is_one():
    box = Box()

    def look():
        while vars(box).pop("a", None) is None:
            pass

    def store():
        box.a = 1

    run(look, store)


@dpor.model
def keys_that_the_model_compares():
    box = Box()

    def store(number):
        vars(box)[Key(1)] = number

    run(lambda: store(0), lambda: store(1))
    outcome(*vars(box).values())
