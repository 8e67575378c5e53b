"""The audit of a deployment: run it, attack it, bound what the attack shows, and decide."""

from dpaudit.auditing.run import audit

__all__ = ["audit"]
