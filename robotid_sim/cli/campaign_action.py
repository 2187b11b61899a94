"""What to do with a campaign; loads fast."""

from enum import StrEnum


class CampaignAction(StrEnum):
    """What to do with a campaign."""

    RUN = "run"
    STATUS = "status"
    SUMMARY = "summary"
    EXPORT = "export"
    LIST = "list"
