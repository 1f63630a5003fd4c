"""What the servers and the faults of the tests promise: without it a test against them would prove nothing."""
import contextlib
import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

import pytest

from servers.faults import Control
from servers.s3 import Client, S3Error

HERE = Path(__file__).resolve().parent
WRAPPER = HERE / "with_servers"
LIMIT_S = 120


def bare_environment() -> dict[str, str]:
    return {key: value for key, value in os.environ.items() if not key.startswith("FOREBAY_TEST_")}


def wrapped(*arguments, env=None) -> subprocess.CompletedProcess:
    return subprocess.run([sys.executable, WRAPPER, *arguments], capture_output=True, text=True, timeout=LIMIT_S,
                          env=bare_environment() | (env or {}))


def until(condition, what: str):
    deadline = time.monotonic() + LIMIT_S
    while not (value := condition()):
        assert time.monotonic() < deadline, f"{what} did not happen"
        time.sleep(0.05)
    return value


def refuses(url: str) -> bool:
    host, port = url.removeprefix("http://").split(":")
    with contextlib.suppress(OSError), socket.create_connection((host, int(port)), timeout=2):
        return False
    return True


@pytest.fixture
def nginx_needed(servers):
    return servers("nginx")


@pytest.fixture
def gateway(servers):
    """Clients to Ceph, straight and through the fault proxy, and a bucket with an object of 100 kB."""
    variables = servers("ceph", "faults")
    keys = variables["FOREBAY_TEST_S3_KEY"], variables["FOREBAY_TEST_S3_SECRET"]
    direct = Client(variables["FOREBAY_TEST_S3"], *keys)
    direct.make_bucket("server-tests")
    direct.put("server-tests", "object", bytes(range(250)) * 400)
    yield lambda: Client(variables["FOREBAY_TEST_FAULTS"], *keys)
    direct.connection.close()


def read(gateway, timeout_s=30.0) -> bytes:
    client = gateway()
    client.connection.timeout = timeout_s
    try:
        return client.get("server-tests", "object")
    finally:
        client.connection.close()


# ---- the wrapper

def test_the_exit_code_is_that_of_the_command(nginx_needed):
    assert wrapped("--only", "nginx", "bash", "-c", "exit 7").returncode == 7


def test_an_unknown_server_is_named():
    done = wrapped("--only", "nginks", "true")
    assert done.returncode == 2 and "nginks" in done.stderr and "nginx" in done.stderr


def test_missing_packages_are_said_and_only_a_demand_for_servers_makes_them_an_error(tmp_path):
    for required, code in (("0", 0), ("1", 1)):
        done = wrapped("--only", "nginx", "/bin/true", env={"PATH": str(tmp_path), "FOREBAY_REQUIRE_SERVERS": required})
        assert done.returncode == code, done.stderr
        assert "SERVERS ABSENT: nginx needs nginx" in done.stderr and "tools/system_packages servers" in done.stderr


def test_a_server_that_does_not_start_is_named_with_the_end_of_its_log(tmp_path, nginx_needed):
    broken = tmp_path / "nginx"
    broken.write_text("#!/bin/sh\necho the disk is full >&2\nexit 3\n")
    broken.chmod(0o755)
    done = wrapped("--only", "nginx", "true", env={"PATH": f"{tmp_path}:{os.environ['PATH']}", "TMPDIR": str(tmp_path)})
    assert done.returncode == 1
    assert "nginx did not start: it ended with exit code 3" in done.stderr and "the disk is full" in done.stderr
    assert not list(tmp_path.glob("forebay-servers-*"))


def test_servers_of_an_outer_wrapper_are_used_again(nginx_needed):
    inner = f"{sys.executable} {WRAPPER} --only nginx printenv FOREBAY_TEST_HTTP"
    done = wrapped("--only", "nginx", "bash", "-c", f"printenv FOREBAY_TEST_HTTP; {inner}")
    first, second = done.stdout.split()
    assert first == second


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGKILL])
def test_nothing_is_left_however_the_wrapper_ends(number, tmp_path, nginx_needed):
    script = "echo $FOREBAY_TEST_HTTP $$; exec sleep 600"
    process = subprocess.Popen([sys.executable, WRAPPER, "--only", "nginx", "bash", "-c", script], stdout=subprocess.PIPE,
                               stdin=subprocess.DEVNULL, text=True, env=bare_environment() | {"TMPDIR": str(tmp_path)})
    url, command = process.stdout.readline().split()
    assert not refuses(url)
    process.send_signal(number)
    process.wait(LIMIT_S)
    process.stdout.close()
    until(lambda: refuses(url), "the server's end")
    until(lambda: not Path("/proc", command).exists() or "State:\tZ" in Path("/proc", command, "status").read_text(),
          "the command's end")
    until(lambda: not list(tmp_path.iterdir()), "the removal of the temporary folder")


def test_servers_die_with_their_keeper(tmp_path, nginx_needed):
    env = bare_environment() | {"TMPDIR": str(tmp_path), "PYTHONPATH": str(HERE.parent)}
    keeper = subprocess.Popen([sys.executable, "-m", "servers.keeper", "nginx"], stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE, text=True, env=env)
    url = json.loads(keeper.stdout.readline())["variables"]["FOREBAY_TEST_HTTP"]
    keeper.kill()
    keeper.communicate(timeout=LIMIT_S)
    until(lambda: refuses(url), "the server's end")


# ---- what runs

def test_each_gateway_gives_back_what_it_was_given(servers):
    variables = servers("ceph", "swift")
    for name, ca in (("S3", None), ("S3_TLS", variables["FOREBAY_TEST_CA"]), ("SWIFT", None)):
        kind = name.removesuffix("_TLS")
        client = Client(variables[f"FOREBAY_TEST_{name}"], variables[f"FOREBAY_TEST_{kind}_KEY"],
                        variables[f"FOREBAY_TEST_{kind}_SECRET"], ca=ca)
        with contextlib.suppress(S3Error):  # it is there from the round before
            client.make_bucket("round-trip")
        client.put("round-trip", "a b+c/é~=&", b"hello")
        assert client.get("round-trip", "a b+c/é~=&") == b"hello"
        assert client.keys("round-trip") == ["a b+c/é~=&"]
        with pytest.raises(S3Error, match="NoSuchKey"):
            client.get("round-trip", "absent")
        client.connection.close()


def test_nginx_serves_its_folder_over_http_2(servers):
    variables = servers("nginx")
    Path(variables["FOREBAY_TEST_HTTP_ROOT"], "note").write_text("hello")
    done = subprocess.run(["curl", "--silent", "--write-out", " %{http_version}", "--cacert", variables["FOREBAY_TEST_CA"],
                           variables["FOREBAY_TEST_HTTPS"] + "/note"], capture_output=True, text=True, timeout=LIMIT_S)
    assert done.stdout == "hello 2"


# ---- faults

def test_shares_of_faults_are_those_of_the_seed(gateway, faults):
    def story() -> str:
        faults.reset()
        faults.set(seed=3, share_503=0.1, share_closed=0.1, share_truncated=0.1)
        return "".join(outcome() for _ in range(100))

    def outcome() -> str:
        try:
            return "." if len(read(gateway)) == 100_000 else "?"
        except S3Error as error:
            assert error.code == "SlowDown"
            return "5"
        except http.client.IncompleteRead as error:
            assert len(error.partial) == 50_000
            return "t"
        except (ConnectionError, http.client.RemoteDisconnected):
            return "c"

    first = story()
    assert story() == first and all(first.count(kind) > 2 for kind in "5tc.")
    counts = faults.status()["counts"]
    assert [counts[f"fault_{kind}"] for kind in ("503", "truncated", "closed")] == [first.count(kind) for kind in "5tc"]


def test_retry_after_is_told(gateway, faults, servers):
    faults.set(share_503_retry=1, retry_after_s=7)
    with pytest.raises(urllib.error.HTTPError) as caught:
        urllib.request.urlopen(servers("faults")["FOREBAY_TEST_FAULTS"], timeout=LIMIT_S)
    assert caught.value.code == 503 and caught.value.headers["Retry-After"] == "7"


def test_latency_is_added_and_the_peak_in_flight_is_counted(gateway, faults):
    import concurrent.futures
    faults.set(latency_ms=500)
    begun = time.monotonic()
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda _: read(gateway), range(8)))
    assert time.monotonic() - begun >= 0.5
    until(lambda: faults.status()["in_flight"] == 0, "the last answer")
    counts = faults.status()["counts"]
    assert counts["peak_in_flight"] == 8 and counts["requests"] == counts["finished"] == 8
    assert counts["bytes_sent"] == 800_000


@pytest.mark.parametrize("setting", ["share_never", "share_stalled"])
def test_what_never_ends_holds_until_the_client_goes(setting, gateway, faults):
    faults.set(**{setting: 1})
    with pytest.raises(TimeoutError):
        read(gateway, timeout_s=0.5)
    until(lambda: faults.status()["in_flight"] == 0, "that the proxy notices")


def test_a_slow_body_takes_its_time_and_is_whole(gateway, faults):
    faults.set(share_slow=1, slow_bytes_per_s=200_000)
    begun = time.monotonic()
    assert len(read(gateway)) == 100_000
    assert time.monotonic() - begun > 0.3


def test_an_outage_closes_everything_and_ends(gateway, faults):
    faults.outage(seconds=600)
    with pytest.raises((ConnectionError, http.client.RemoteDisconnected)):
        read(gateway)
    faults.outage(seconds=0)
    assert len(read(gateway)) == 100_000


@pytest.mark.parametrize(("setting", "told"), [("share_truncated", "200 2"), ("share_closed", "000 0"), ("share_503", "503 2")])
def test_faults_reach_http_2_as_well(setting, told, gateway, faults, servers):
    variables = servers("faults")
    keys = f"{variables['FOREBAY_TEST_S3_KEY']}:{variables['FOREBAY_TEST_S3_SECRET']}"
    faults.set(**{setting: 1})
    done = subprocess.run(["curl", "--silent", "--aws-sigv4", "aws:amz:us-east-1:s3", "--user", keys, "--header",
                           "x-amz-content-sha256: UNSIGNED-PAYLOAD", "--cacert", variables["FOREBAY_TEST_CA"], "--output",
                           "/dev/null", "--write-out", "%{http_code} %{http_version}",
                           variables["FOREBAY_TEST_FAULTS_TLS"] + "/server-tests/object"],
                          capture_output=True, text=True, timeout=LIMIT_S)
    assert done.stdout == told and (done.returncode == 0) == (setting == "share_503")
    assert faults.status()["counts"]["requests"] == 1


# ---- credentials

def ask(url: str, method: str = "GET", **headers: str) -> str:
    named = {key.replace("_", "-"): value for key, value in headers.items()}
    request = urllib.request.Request(url, method=method, headers=named)
    with urllib.request.urlopen(request, timeout=LIMIT_S) as answer:
        return answer.read().decode()


@pytest.fixture
def endpoints(servers):
    url = servers("ceph", "faults")["FOREBAY_TEST_CREDENTIALS"]
    ask(f"{url}/control/reset")
    yield url
    ask(f"{url}/control/reset")


def session(variables: dict[str, str], text: str) -> Client:
    given = json.loads(text)
    return Client(variables["FOREBAY_TEST_FAULTS"], given["AccessKeyId"], given["SecretAccessKey"], given["Token"])


def refusal(client: Client) -> str:
    """The code of the error that a read meets; "" where it meets none."""
    try:
        client.get("server-tests", "object")
    except S3Error as error:
        return error.code
    return ""


def test_the_endpoints_give_sessions_that_ceph_accepts_and_that_expire(gateway, faults, endpoints, servers):
    instance = f"{endpoints}/latest/meta-data/iam/security-credentials/"
    with pytest.raises(urllib.error.HTTPError, match="401"):
        ask(instance)
    token = ask(f"{endpoints}/latest/api/token", "PUT", X_aws_ec2_metadata_token_ttl_seconds="60")
    role = ask(instance, X_aws_ec2_metadata_token=token)
    for text in (ask(f"{endpoints}/container"), ask(instance + role, X_aws_ec2_metadata_token=token)):
        client = session(servers("faults"), text)
        assert len(client.get("server-tests", "object")) == 100_000
        faults.set(token_lifetime_s=0.001)
        until(lambda client=client: refusal(client) == "ExpiredToken", "the session's end")  # the proxy's clock ticks in milliseconds
        faults.reset()
        client.connection.close()


def test_the_endpoints_fail_as_often_as_ordered(endpoints):
    ask(f"{endpoints}/control/set?fail=1&lifetime_s=5&authorization=secret")
    with pytest.raises(urllib.error.HTTPError, match="503"):
        ask(f"{endpoints}/container", Authorization="secret")
    with pytest.raises(urllib.error.HTTPError, match="401"):
        ask(f"{endpoints}/container")
    assert "Expiration" in json.loads(ask(f"{endpoints}/container", Authorization="secret"))


def test_the_knobs_refuse_what_they_do_not_know(faults: Control):
    with pytest.raises(urllib.error.HTTPError, match="400"):
        faults.set(share_of_luck=1)


# ---- brokers

@pytest.mark.parametrize("name", ["redis", "nats"])
def test_a_broker_dies_and_comes_back_as_ordered(name, servers):
    variables = servers(name)
    address = variables[f"FOREBAY_TEST_{name.upper()}"].replace(f"{name}://", "http://")
    control = variables[f"FOREBAY_TEST_{name.upper()}_CONTROL"]
    for order, gone in (("kill", True), ("start", False), ("pause", False), ("resume", False)):
        assert urllib.request.urlopen(f"{control}/{order}", timeout=LIMIT_S).read() == b"done"
        assert refuses(address) == gone
    with pytest.raises(urllib.error.HTTPError):
        urllib.request.urlopen(f"{control}/explode", timeout=LIMIT_S)
