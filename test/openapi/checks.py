"""Checks in addition to those of Schemathesis: the error codes that generated requests may get.

A valid request may be refused only for rules that no schema can express, an invalid one only as invalid.
"""

from datetime import date, timedelta

import schemathesis
from schemathesis.core.failures import Failure
from schemathesis.generation import GenerationMode
from schemathesis.generation.meta import CoverageScenario

# Refusals of valid requests: because of combinations, the model, the gateway's caps, or an unknown
# id.
OF_VALID = {
    "context_length_exceeded",
    "generation_not_found",
    "idempotency_key_reused",
    "json_mode_no_stream",
    "max_tokens_exceeds_cap",
    "model_not_found",
}
# Fields whose value depends on the model.
OF_MODEL = {"service_tier", "prompt_cache_options", "prompt_cache_retention"}
# Refusals of invalid requests.
OF_INVALID = {
    "generation_not_found",
    "image_url_not_supported",
    "invalid_json",
    "invalid_request",
    "missing_messages",
    "missing_model",
    "reasoning_effort_not_supported",
    "unknown_parameter",
}
MOST_DAYS = 3660


class WrongRefusal(Failure):
    pass


def fail(case, title, message):
    raise WrongRefusal(operation=case.operation.label, title=title, message=message)


@schemathesis.check
def refusals(ctx, response, case):
    """Valid requests are served, or refused by a rule beyond the schema. Invalid ones are refused as invalid."""
    if response.status_code in (200, 401) or is_other_method(case):
        return
    error = response.json()["error"]
    code, param = error["code"], error.get("param")
    if case.meta.generation.mode == GenerationMode.POSITIVE:
        of_model = param in OF_MODEL or str(param).endswith("cache_control")
        depends = code == "invalid_request" and (of_model or (param == "start_date" and is_odd_period(case)))
        if code not in OF_VALID and not depends:
            fail(case, "A valid request is refused", response.text)
    elif code not in OF_VALID | OF_INVALID:
        fail(case, "An invalid request is refused as something else", response.text)


@schemathesis.check
def unknown_method(ctx, response, case):
    """Another method is `route_not_found`. Envoy itself refuses methods that it does not know."""
    expected = (400, "invalid_request") if response.request.method == "QUERY" else (404, "route_not_found")
    if is_other_method(case) and (response.status_code, response.json()["error"]["code"]) != expected:
        fail(case, "Another method is not route_not_found", response.text)


def is_other_method(case):
    return getattr(case.meta.phase.data, "scenario", None) == CoverageScenario.UNSPECIFIED_HTTP_METHOD


def is_odd_period(case):
    """True for a period that ends before it starts or is too long."""
    try:
        end = date.fromisoformat(case.query.get("end_date") or date.today().isoformat())
        start = date.fromisoformat(case.query.get("start_date") or (end - timedelta(days=29)).isoformat())
    except (ValueError, OverflowError):
        return True
    return start > end or (end - start).days >= MOST_DAYS
