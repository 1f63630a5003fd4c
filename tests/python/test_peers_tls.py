"""Hosts of a job that speak TLS with each other: as without, and who is not of the job gets nothing."""
import shutil

import pytest
from peering import TOKEN, Host, Job, free_addresses, pipeline, truth
from servers import certificates

import forebay as fb

NAMES = ("CERTIFICATE", "KEY", "CA")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    if shutil.which("openssl") is None:
        pytest.skip("there is no openssl to make certificates with")
    folder = tmp_path_factory.mktemp("certificates")
    certificates.make_odd(folder)
    return folder


def tls(folder, name="elsewhere", authority="ca"):
    """Variables of a host with that certificate, which is for no address of the job."""
    return {"FOREBAY_CLUSTER_CERTIFICATE_FILE": str(folder / f"{name}.pem"), "FOREBAY_CLUSTER_KEY_FILE": str(folder / f"{name}.key"),
            "FOREBAY_CLUSTER_CA_FILE": str(folder / f"{authority}.pem")}


def test_hosts_with_certificates_of_the_job_give_each_other_what_they_keep(photos, folder):
    expected = truth(photos, 4)
    addresses = free_addresses(2)
    with Job([Host(rank, 2, addresses, photos, variables=tls(folder)) for rank in range(2)]) as hosts:
        reads = []
        for epoch in range(4):
            assert hosts.epoch() == expected[epoch]
            reads.append(hosts.storage_reads())
        assert reads[2] == reads[3], reads
        assert sum(host.peer_hits() for host in hosts.hosts) > 0
        assert not any(store["errors"] for host in hosts.hosts for store in host.peer_stores().values())


@pytest.mark.parametrize("other, said", [
    (lambda folder: {}, "does not speak TLS"),
    (lambda folder: tls(folder, "expired"), "certificate has expired"),
    (lambda folder: tls(folder, "stranger", "other"), "unable to get local issuer certificate"),
])
def test_from_a_host_that_is_not_let_in_nothing_comes_and_storage_is_read(photos, folder, other, said):
    expected = truth(photos, 3)
    addresses = free_addresses(2)
    with Job([Host(0, 2, addresses, photos, variables=tls(folder)), Host(1, 2, addresses, photos, variables=other(folder))]) as hosts:
        for epoch in range(3):
            assert hosts.epoch() == expected[epoch]
        assert [host.peer_hits() for host in hosts.hosts] == [0, 0]
        messages = hosts.hosts[0].close()
        assert f"peer {addresses[1]} is backed off for a while" in messages and said in messages
        assert f"peer {addresses[0]} is backed off for a while" in hosts.hosts[1].close()


@pytest.mark.parametrize("missing", NAMES)
def test_files_that_are_not_all_named_are_an_error(photos, folder, monkeypatch, missing):
    monkeypatch.setenv("FOREBAY_CLUSTER_TOKEN", TOKEN)
    variable = f"FOREBAY_CLUSTER_{missing}_FILE"
    for name, value in tls(folder).items():
        if name != variable:
            monkeypatch.setenv(name, value)
    with pytest.raises(fb.InvalidArgument, match=f"not set: {variable}$"):
        fb.Loader(pipeline(str(photos)), rank=0, world_size=2, peers=free_addresses(2))
