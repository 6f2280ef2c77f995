from anyscene.machine import processor_name


def test_the_processor_has_a_name_and_keeps_it():
    assert processor_name()
    assert processor_name() == processor_name()
