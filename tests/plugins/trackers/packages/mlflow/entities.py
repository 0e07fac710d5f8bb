"""What the adapter imports beside the client."""


class Metric:
    """Never made here."""
