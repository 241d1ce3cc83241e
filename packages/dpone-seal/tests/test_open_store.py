"""A store is opened by URL, and never where nobody would encrypt."""

from __future__ import annotations

import base64
import datetime as dt
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from dpone_contracts.errors import DponeError
from dpone_contracts.testing.artifact_store_suite import PREFIX, created
from dpone_seal.open_store import StoreSettings, open_store
from dpone_seal.s3_objects import S3Objects
from dpone_seal.versioned_directory import VersionedDirectory

if TYPE_CHECKING:
    from pathlib import Path

SETTINGS = StoreSettings(
    url="memory:",
    key_reference="env:SEAL_KEY",
    server_side_encryption=None,
    kms_key_id=None,
    retain_until=dt.datetime(2026, 12, 31, tzinfo=dt.UTC),
    object_lock=False,
    connect_timeout_seconds=2,
    read_timeout_seconds=5,
)


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SEAL_KEY", base64.b64encode(b"k" * 32).decode())


def test_a_directory_is_opened_encrypted_and_with_retention(tmp_path: Path) -> None:
    store = open_store(replace(SETTINGS, url=tmp_path.as_uri()), PREFIX)
    stored = created(store, f"{PREFIX}/chunk", b"canary")
    assert store.read(stored.key, stored.version) == b"canary"
    assert b"canary" not in (tmp_path / f"{PREFIX}/chunk.object").read_bytes()
    assert VersionedDirectory(str(tmp_path)).info(stored.key)["RetainUntil"] == "2026-12-31T00:00:00+00:00"


def test_s3_is_opened_without_a_request() -> None:
    store = open_store(
        replace(
            SETTINGS,
            url="s3://bucket?region=eu-central-1&endpoint=http://127.0.0.1:9",
            key_reference=None,
            server_side_encryption="AES256",
        ),
        PREFIX,
    )
    assert isinstance(store.objects, S3Objects)
    assert store.objects.bucket == "bucket"


@pytest.mark.parametrize("url", ["memory:", "file:///directory", "s3://bucket"])
def test_a_store_that_nobody_encrypts_is_refused(url: str) -> None:
    with pytest.raises(DponeError, match="DPONE_ARTIFACT_STORE_UNFIT"):
        open_store(replace(SETTINGS, url=url, key_reference=None), PREFIX)


@pytest.mark.parametrize("url", ["file:///directory", "memory:"])
def test_a_local_store_cannot_be_trusted_to_encrypt(url: str) -> None:
    with pytest.raises(DponeError, match="DPONE_ARTIFACT_STORE_UNFIT"):
        open_store(replace(SETTINGS, url=url, key_reference=None, server_side_encryption="AES256"), PREFIX)


@pytest.mark.parametrize("url", ["ftp://host", "", "/directory"])
def test_another_url_is_a_usage_error(url: str) -> None:
    with pytest.raises(DponeError, match="DPONE_USAGE"):
        open_store(replace(SETTINGS, url=url), PREFIX)


def test_a_directory_of_any_name_is_the_one_of_its_url(tmp_path: Path) -> None:
    directory = tmp_path / "a store, 100% mine"
    created(open_store(replace(SETTINGS, url=directory.as_uri()), PREFIX), f"{PREFIX}/chunk", b"x")
    assert (directory / f"{PREFIX}/chunk.object").is_file()
