"""Certificates: feasibility, stationarity, complementarity, gap, support vectors, claims."""

from kopt.verify.bounds import Bounds
from kopt.verify.certificate import Certificate, certify, verify
from kopt.verify.points import Points
from kopt.verify.record import Record, Residual

__all__ = ["Bounds", "Certificate", "Points", "Record", "Residual", "certify", "verify"]
