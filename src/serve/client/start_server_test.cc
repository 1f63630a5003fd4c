// Tests starting a server as a process of its own. A shell script takes the place of the server's
// program, and a manual clock that of the waits for the lock.
#include "serve/client/start_server.h"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <gtest/gtest.h>

#include "serve/server/serve_test_support.h"
#include "serve/socket_path.h"
#include "serve/wait_clock_test_support.h"

namespace forebay {
namespace {

using serve_test::Folder;
using serve_test::ManualClock;
using std::chrono::milliseconds;
using std::chrono::seconds;

class StartServer : public testing::Test {
 protected:
  /// A program that runs the script and then waits until the test has ended.
  std::vector<std::string> script(const std::string& text) {
    return {
        "/bin/sh", "-c",
        text + "; mv " + file("new") + " " + file("out") + "; while [ -d " + folder_.path() + " ]; do sleep 0.01; done",
        "sh"};
  }
  std::string file(const std::string& name) const { return folder_.path() + "/" + name; }
  std::string path() const { return file("s.sock"); }
  /// Returns what the script has written to "new".
  std::string output() {
    EXPECT_TRUE(eventually([&] { return std::filesystem::exists(file("out")); }));
    std::stringstream text;
    text << std::ifstream(file("out")).rdbuf();
    return text.str();
  }
  Result<FileDescriptor> start(const std::vector<std::string>& program, ManualClock& clock,
                               std::stop_token stop = {}) const {
    return connect_or_start(path(), program, true, stop, clock);
  }

  Folder folder_;
  ManualClock clock_;
};

TEST_F(StartServer, connects_to_the_server_that_is_there) {
  const auto listening = listen_at(path());
  ASSERT_TRUE(listening.ok());
  EXPECT_TRUE(connect_or_start(path(), {"/nowhere/program"}, true, {}).ok());
  EXPECT_FALSE(std::filesystem::exists(path() + ".lock"));
}

TEST_F(StartServer, starts_none_where_none_is_wanted) {
  EXPECT_EQ(connect_or_start(path(), {}, false, {}).status().code(), Code::kNotFound);
  EXPECT_FALSE(std::filesystem::exists(path()));
}

TEST_F(StartServer, gives_the_server_its_socket_and_tells_it_how_to_serve) {
  const Result<FileDescriptor> connected = start(script("echo \"$@\" > " + file("new")), clock_);
  ASSERT_TRUE(connected.ok()) << connected.status().to_string();
  EXPECT_EQ(output(), "serve --listen-at 3 --linger 10 --socket " + path() + "\n");
  EXPECT_EQ(clock_.waits(), 0);
}

TEST_F(StartServer, leaves_the_server_no_files_of_the_client) {
  const std::string list = "for f in /proc/$$/fd/*; do echo $(basename $f) $(readlink $f); done > " + file("new");
  ASSERT_TRUE(start(script(list), clock_).ok());
  std::istringstream lines(output());
  int number = 0, sockets = 0;
  for (std::string target; lines >> number >> target;) {
    sockets += target.starts_with("socket:") ? 1 : 0;
    // Descriptors above 3 are the shell's own.
    EXPECT_TRUE(target.starts_with("socket:") || target == "/dev/null" || target.starts_with("/proc/") ||
                target.starts_with(folder_.path()) || target.starts_with("pipe:"))
        << number << " " << target;
  }
  EXPECT_EQ(sockets, 1) << "the listening socket";
}

TEST_F(StartServer, leaves_the_server_no_variables_of_one_rank) {
  const std::vector<std::string> of_rank = {"RANK",      "WORLD_SIZE",   "LOCAL_RANK",           "GROUP_RANK",
                                            "ROLE_RANK", "SLURM_PROCID", "OMPI_COMM_WORLD_RANK", "PMIX_RANK"};
  const std::vector<std::string> of_job = {"FOREBAY_TEST_VARIABLE", "SLURM_TMPDIR", "SLURM_JOB_ID",
                                           "LOCAL_SCRATCH",         "GROUP_NAME",   "RANKING",
                                           "OMP_NUM_THREADS"};
  for (const auto* names : {&of_rank, &of_job})
    for (const std::string& name : *names) setenv(name.c_str(), "1", 1);
  const Result<FileDescriptor> connected = start(script("env > " + file("new")), clock_);
  for (const auto* names : {&of_rank, &of_job})
    for (const std::string& name : *names) unsetenv(name.c_str());
  ASSERT_TRUE(connected.ok());
  const std::string environment = "\n" + output();
  for (const std::string& name : of_rank) EXPECT_EQ(environment.find("\n" + name + "="), std::string::npos) << name;
  for (const std::string& name : of_job) EXPECT_NE(environment.find("\n" + name + "=1\n"), std::string::npos) << name;
}

TEST_F(StartServer, detaches_the_server_from_the_client_s_session_and_folder) {
  ASSERT_TRUE(start(script("(pwd; cut -d ' ' -f 6 /proc/$$/stat; echo $$) > " + file("new")), clock_).ok());
  std::istringstream lines(output());
  std::string folder, session, process;
  ASSERT_TRUE(lines >> folder >> session >> process);
  EXPECT_EQ(folder, "/");
  EXPECT_EQ(session, process) << "it leads a session of its own";
}

TEST_F(StartServer, writes_what_the_server_says_to_a_log_beside_the_socket) {
  ASSERT_TRUE(start(script("echo problem >&2; touch " + file("new")), clock_).ok());
  (void)output();
  std::stringstream log;
  log << std::ifstream(path() + ".log").rdbuf();
  EXPECT_EQ(log.str(), "problem\n");
}

TEST_F(StartServer, says_that_a_program_is_not_on_the_path) {
  const Status status = start({"forebay-that-nobody-has"}, clock_).status();
  EXPECT_EQ(status.code(), Code::kUnavailable);
  EXPECT_NE(status.message().find("forebay-that-nobody-has"), std::string::npos);
  EXPECT_FALSE(std::filesystem::exists(path()));
}

TEST_F(StartServer, finds_a_program_on_the_path) {
  ASSERT_TRUE(start({"sh", "-c", "while [ -d " + folder_.path() + " ]; do sleep 0.01; done", "sh"}, clock_).ok());
}

TEST_F(StartServer, says_why_a_program_cannot_be_run) {
  std::ofstream(file("text")) << "no program";
  for (const std::string& program : {file("missing"), file("text")}) {
    const Status status = start({program}, clock_).status();
    EXPECT_EQ(status.code(), Code::kUnavailable);
    EXPECT_EQ(status.key(), program);
  }
}

TEST_F(StartServer, leaves_nobody_listening_if_the_program_ends) {
  (void)start({"/bin/true"}, clock_);  // the program may still have the socket when the client connects
  EXPECT_TRUE(eventually([&] { return connect_to(path()).status().code() == Code::kNotFound; }));
}

TEST_F(StartServer, waits_for_another_process_that_starts_one_and_uses_its_server) {
  std::optional<FileDescriptor> lock = *lock_socket(path(), LockMode::kTry);
  std::optional<FileDescriptor> listening;
  ManualClock clock([&](milliseconds passed) {
    if (passed != seconds(20)) return;
    listening = std::move(*listen_at(path()));
    lock.reset();
  });
  EXPECT_TRUE(start({"/nowhere/program"}, clock).ok());
  EXPECT_EQ(clock.passed(), seconds(20));
}

TEST_F(StartServer, starts_one_if_the_other_process_has_failed) {
  std::optional<FileDescriptor> lock = *lock_socket(path(), LockMode::kTry);
  ManualClock clock([&](milliseconds passed) {
    if (passed == seconds(1)) lock.reset();
  });
  EXPECT_TRUE(start(script("touch " + file("new")), clock).ok());
  (void)output();
}

TEST_F(StartServer, gives_up_on_a_lock_that_is_held_for_half_a_minute) {
  const std::optional<FileDescriptor> lock = *lock_socket(path(), LockMode::kTry);
  const Status status = start({"/bin/true"}, clock_).status();
  EXPECT_EQ(status.code(), Code::kUnavailable);
  EXPECT_EQ(status.key(), path() + ".lock");
  EXPECT_EQ(clock_.passed(), seconds(30));
}

TEST_F(StartServer, says_at_once_that_a_lock_cannot_be_opened) {
  ASSERT_EQ(symlink("/dev/null", (path() + ".lock").c_str()), 0);
  EXPECT_EQ(start({"/bin/true"}, clock_).status().key(), path() + ".lock");
  EXPECT_EQ(clock_.passed(), milliseconds(0));
}

TEST_F(StartServer, a_stop_ends_the_wait) {
  const std::optional<FileDescriptor> lock = *lock_socket(path(), LockMode::kTry);
  std::stop_source stop;
  ManualClock clock([&](milliseconds passed) {
    if (passed == seconds(2)) stop.request_stop();
  });
  EXPECT_EQ(start({"/bin/true"}, clock, stop.get_token()).status().code(), Code::kCancelled);
  EXPECT_EQ(clock.passed(), seconds(2));
}

}  // namespace
}  // namespace forebay
