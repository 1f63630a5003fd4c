// Tests where servers listen, and that nobody else can listen there in their place.
#include "serve/socket_path.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <future>
#include <optional>

#include <gtest/gtest.h>

#include "serve/server/serve_test_support.h"

namespace forebay {
namespace {

namespace fs = std::filesystem;

using serve_test::RuntimeFolder;

TEST(SocketPath, of_a_name_lies_in_a_folder_that_only_its_user_can_enter) {
  const RuntimeFolder runtime;
  EXPECT_EQ(*socket_path("jobs-1_a.b"), runtime.sockets() + "/jobs-1_a.b.sock");
  struct stat info{};
  ASSERT_EQ(lstat(runtime.sockets().c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0700U);
  EXPECT_EQ(*socket_path(""), *socket_path("auto"));
}

TEST(SocketPath, with_a_slash_is_a_path) {
  EXPECT_EQ(*socket_path("/run/x.sock"), "/run/x.sock");
  EXPECT_EQ(*socket_path("./x y.sock"), "./x y.sock");
}

TEST(SocketPath, of_what_is_no_name_is_refused) {
  const RuntimeFolder runtime;
  for (const std::string name : {".", "..", ".hidden", "two words", "a\nb", "é"})
    EXPECT_EQ(socket_path(name).status().code(), Code::kInvalidArgument) << name;
  EXPECT_TRUE(socket_path(std::string(64, 'a')).ok() || runtime.path().size() > 20);
  EXPECT_EQ(socket_path(std::string(65, 'a')).status().code(), Code::kInvalidArgument);
}

TEST(SocketPath, that_is_longer_than_the_kernel_takes_is_refused) {
  EXPECT_TRUE(socket_path("/" + std::string(106, 'a')).ok());
  EXPECT_EQ(socket_path("/" + std::string(107, 'a')).status().code(), Code::kInvalidArgument);
}

TEST(SocketPath, in_a_folder_that_others_can_enter_is_refused) {
  const RuntimeFolder runtime;
  ASSERT_TRUE(socket_path("a").ok());
  for (const mode_t mode : {0755, 0710, 0701}) {
    ASSERT_EQ(chmod(runtime.sockets().c_str(), mode), 0);
    const Status status = socket_path("a").status();
    EXPECT_EQ(status.code(), Code::kUnavailable) << mode;
    EXPECT_EQ(status.key(), runtime.sockets());
  }
  ASSERT_EQ(chmod(runtime.sockets().c_str(), 0700), 0);
  EXPECT_TRUE(socket_path("a").ok());
}

TEST(SocketPath, whose_folder_is_a_link_or_a_file_is_refused) {
  const RuntimeFolder runtime;
  const std::string elsewhere = runtime.path() + "/elsewhere";
  ASSERT_EQ(mkdir(elsewhere.c_str(), 0700), 0);
  ASSERT_EQ(symlink(elsewhere.c_str(), runtime.sockets().c_str()), 0);
  EXPECT_EQ(socket_path("a").status().code(), Code::kUnavailable);
  fs::remove(runtime.sockets());
  std::ofstream(runtime.sockets()) << "a file";
  EXPECT_EQ(socket_path("a").status().code(), Code::kUnavailable);
}

TEST(SocketPath, without_a_runtime_folder_lies_in_tmp_with_the_user_s_number) {
  const RuntimeFolder runtime;
  for (const char* const unusable : {"", "relative", "/nowhere"}) {
    setenv("XDG_RUNTIME_DIR", unusable, 1);
    EXPECT_TRUE(socket_path("a")->starts_with("/tmp/forebay-" + std::to_string(getuid()) + "/")) << unusable;
  }
}

TEST(ServeCommand, names_a_server_as_users_do) {
  const RuntimeFolder runtime;
  EXPECT_EQ(serve_command(*socket_path("auto")), "forebay serve");
  EXPECT_EQ(serve_command(*socket_path("auto"), "stop"), "forebay serve stop");
  EXPECT_EQ(serve_command(*socket_path("jobs"), "stop"), "forebay serve stop --socket jobs");
  EXPECT_EQ(serve_command("/run/x.sock"), "forebay serve --socket /run/x.sock");
  EXPECT_EQ(serve_command(runtime.sockets() + "/sub/x.sock"),
            "forebay serve --socket " + runtime.sockets() + "/sub/x.sock")
      << "a socket in a subfolder has no name";
}

TEST(Connect, where_nobody_listens_is_not_found_and_says_how_to_start_a_server) {
  const serve_test::Folder folder;
  const std::string path = folder.path() + "/s.sock";
  Status status = connect_to(path).status();
  EXPECT_EQ(status.code(), Code::kNotFound);
  EXPECT_EQ(status.key(), path);
  EXPECT_NE(status.message().find("forebay serve --socket " + path), std::string::npos);
  {
    ASSERT_TRUE(listen_at(path).ok());
  }
  EXPECT_TRUE(fs::exists(path)) << "as a server leaves it that was killed";
  EXPECT_EQ(connect_to(path).status().code(), Code::kNotFound);
}

TEST(Connect, knows_the_process_and_the_path_at_the_other_end) {
  const serve_test::Folder folder;
  const std::string path = folder.path() + "/s.sock";
  const Result<FileDescriptor> listening = listen_at(path);
  ASSERT_TRUE(listening.ok());
  const Result<FileDescriptor> client = connect_to(path);
  ASSERT_TRUE(client.ok());
  EXPECT_EQ(peer_process(client->get())->process, getpid());
  EXPECT_EQ(peer_process(client->get())->user, getuid());
  const FileDescriptor file(open("/dev/null", O_RDONLY | O_CLOEXEC));
  EXPECT_FALSE(peer_process(file.get()));
  EXPECT_EQ(peer_path(client->get()), path);
  EXPECT_EQ(peer_path(file.get()), "");
}

TEST(Listen, replaces_a_socket_and_no_other_file) {
  const serve_test::Folder folder;
  const std::string path = folder.path() + "/s.sock";
  {
    ASSERT_TRUE(listen_at(path).ok());
  }
  const Result<FileDescriptor> again = listen_at(path);
  ASSERT_TRUE(again.ok()) << again.status().to_string();
  EXPECT_TRUE(connect_to(path).ok());
  const std::string file = folder.path() + "/file";
  std::ofstream(file) << "precious";
  EXPECT_EQ(listen_at(file).status().code(), Code::kInvalidArgument);
  EXPECT_EQ(fs::file_size(file), 8U);
  EXPECT_EQ(listen_at(folder.path() + "/missing/s.sock").status().code(), Code::kUnavailable);
}

TEST(Listen, lets_only_its_user_connect) {
  const serve_test::Folder folder;
  const std::string path = folder.path() + "/s.sock";
  const Result<FileDescriptor> listening = listen_at(path);
  ASSERT_TRUE(listening.ok());
  struct stat info{};
  ASSERT_EQ(lstat(path.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 077, 0U);
}

TEST(SocketLock, has_one_holder_and_ends_with_its_descriptor) {
  const serve_test::Folder folder;
  const std::string path = folder.path() + "/s.sock";
  std::optional<FileDescriptor> held = *lock_socket(path, LockMode::kTry);
  ASSERT_TRUE(held);
  EXPECT_FALSE(*lock_socket(path, LockMode::kTry));
  auto waits = std::async(std::launch::async, [&] { return lock_socket(path, LockMode::kWait)->has_value(); });
  held.reset();
  EXPECT_TRUE(waits.get());
  EXPECT_TRUE(*lock_socket(path, LockMode::kTry));
}

TEST(SocketLock, a_file_that_cannot_be_opened_is_an_error) {
  const serve_test::Folder folder;
  for (const LockMode mode : {LockMode::kTry, LockMode::kWait}) {
    const Status status = lock_socket(folder.path() + "/missing/s.sock", mode).status();
    EXPECT_EQ(status.code(), Code::kUnavailable);
    EXPECT_EQ(status.key(), folder.path() + "/missing/s.sock.lock");
  }
  // Another user could have put a link there, so that the lock opens a file of that user's choice.
  ASSERT_EQ(symlink("/dev/null", (folder.path() + "/s.sock.lock").c_str()), 0);
  EXPECT_EQ(lock_socket(folder.path() + "/s.sock", LockMode::kTry).status().code(), Code::kUnavailable);
}

}  // namespace
}  // namespace forebay
