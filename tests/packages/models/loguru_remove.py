"""To remove all handlers changes the dict that a message goes through."""

import threading

from loguru import logger

import dpor


@dpor.model(instrument=("loguru",))
def model() -> None:
    logger.remove()
    seen: list[str] = []
    for _ in range(2):
        logger.add(seen.append, format="{message}")
    thread = threading.Thread(target=logger.remove)
    thread.start()
    logger.info("hello")
    thread.join()
