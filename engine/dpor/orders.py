"""C11's memory orders by name."""

from __future__ import annotations

LOAD_ORDERS = ("seq_cst", "acquire", "relaxed")
STORE_ORDERS = ("seq_cst", "release", "relaxed")
ORDERS = ("seq_cst", "acq_rel", "acquire", "release", "relaxed")


def check_order(order: str, accepted: tuple[str, ...] = ORDERS) -> None:
    """Raise ValueError unless `order` is one of the `accepted` memory orders."""
    if order not in accepted:
        raise ValueError(f"order {order!r} is not one of {', '.join(accepted)}")
