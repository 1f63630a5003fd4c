"""Objects of the package that threads use at the same time. Where Python has no global lock, those of the standard library fail here."""
import gc
import threading

from forebay._concurrent import Numbers, WeakRegistry


class Thing:
    pass


def at_once(*functions):
    """Runs functions in threads of their own and raises what one of them raised."""
    errors = []

    def caught(function):
        try:
            function()
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=caught, args=(function,)) for function in functions]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]


def test_a_registry_has_what_still_exists():
    registry = WeakRegistry()
    kept, dropped = Thing(), Thing()
    registry.add(kept)
    registry.add(kept)
    registry.add(dropped)
    assert set(registry.alive()) == {kept, dropped} and len(registry.alive()) == 2
    del dropped
    gc.collect()
    assert registry.alive() == [kept] and len(registry._references) == 1


def test_threads_add_to_a_registry_while_others_list_it():
    registry = WeakRegistry()
    kept = [Thing() for _ in range(200)]
    for thing in kept:
        registry.add(thing)

    def add():
        more = []
        for _ in range(500):
            more.append(Thing())
            registry.add(more[-1])
            registry.add(Thing())

    def see():
        for _ in range(50):
            assert set(kept) <= set(registry.alive())

    at_once(add, add, see, see)
    assert set(registry.alive()) == set(kept)


def test_each_number_is_given_to_one_thread():
    numbers = Numbers()
    given = [[], [], [], []]

    def take(mine):
        for _ in range(2000):
            mine.append(next(numbers))

    at_once(*(lambda mine=mine: take(mine) for mine in given))
    assert sorted(sum(given, [])) == list(range(8000))
