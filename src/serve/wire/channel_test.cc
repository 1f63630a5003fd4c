#include "serve/wire/channel.h"

#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <thread>

#include <gtest/gtest.h>

namespace forebay {
namespace {

using std::chrono::milliseconds;
constexpr milliseconds kSoon{30'000};

struct Ends {
  Ends() {
    int fds[2];
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
    a = FileDescriptor(fds[0]);
    b = FileDescriptor(fds[1]);
  }
  FileDescriptor a, b;
};

TEST(Channel, carries_messages_larger_than_a_socket_holds) {
  Ends ends;
  Channel from(std::move(ends.a), 1 << 26, false), to(std::move(ends.b), 1 << 26, false);
  const std::string body(20'000'000, 'x');
  std::thread sender([&] {
    EXPECT_TRUE(from.send(MessageType::kOpen, body).ok());
    EXPECT_TRUE(from.send(MessageType::kLook, "").ok());
  });
  const auto first = to.receive(kSoon), second = to.receive(kSoon);
  sender.join();
  ASSERT_TRUE(first.ok() && first->has_value() && second.ok() && second->has_value());
  EXPECT_EQ((*first)->body, body);
  EXPECT_EQ((*second)->type, MessageType::kLook);
}

TEST(Channel, keeps_what_came_of_a_message_when_time_is_up) {
  Ends ends;
  const int raw = ends.a.get();
  Channel to(std::move(ends.b), 100, false);
  const char head[8] = {5, 0, 0, 0, 6, 0, 0, 0};
  ASSERT_EQ(write(raw, head, 8), 8);
  ASSERT_EQ(write(raw, "ab", 2), 2);
  EXPECT_FALSE(to.receive(milliseconds(1))->has_value());
  ASSERT_EQ(write(raw, "cde", 3), 3);
  const auto frame = to.receive(kSoon);
  ASSERT_TRUE(frame.ok() && frame->has_value());
  EXPECT_EQ((*frame)->body, "abcde");
}

TEST(Channel, refuses_a_length_before_it_takes_memory) {
  Ends ends;
  const int raw = ends.a.get();
  Channel to(std::move(ends.b), 100, false);
  const unsigned char head[8] = {0xff, 0xff, 0xff, 0xff, 2, 0, 0, 0};
  ASSERT_EQ(write(raw, head, 8), 8);
  EXPECT_EQ(to.receive(kSoon).status().code(), Code::kCorrupt);
}

TEST(Channel, the_other_end_that_has_gone_is_unavailable) {
  Ends ends;
  Channel to(std::move(ends.b), 100, false);
  ends.a = FileDescriptor();
  EXPECT_EQ(to.receive(kSoon).status().code(), Code::kUnavailable);
  EXPECT_EQ(to.send(MessageType::kLook, "x").code(), Code::kUnavailable);
}

TEST(Channel, hands_descriptors_over_only_where_they_are_taken) {
  const FileDescriptor file(memfd_create("t", MFD_CLOEXEC));
  ASSERT_EQ(write(file.get(), "hello", 5), 5);
  const int fd = file.get();
  {
    Ends ends;
    Channel from(std::move(ends.a), 100, false), to(std::move(ends.b), 100, true);
    ASSERT_TRUE(from.send(MessageType::kSlabs, "s", std::span(&fd, 1)).ok());
    const auto frame = to.receive(kSoon);
    ASSERT_TRUE(frame.ok() && frame->has_value());
    ASSERT_EQ((*frame)->descriptors.size(), 1U);
    char text[5];
    EXPECT_EQ(pread((*frame)->descriptors[0].get(), text, 5, 0), 5);
  }
  Ends ends;
  Channel from(std::move(ends.a), 100, false), to(std::move(ends.b), 100, false);
  ASSERT_TRUE(from.send(MessageType::kSlabs, "s", std::span(&fd, 1)).ok());
  EXPECT_EQ(to.receive(kSoon).status().code(), Code::kCorrupt);
}

TEST(Channel, shutting_down_wakes_who_waits) {
  Ends ends;
  Channel to(std::move(ends.b), 100, false);
  std::thread closer([&] { to.shut_down(); });
  EXPECT_EQ(to.receive(kSoon).status().code(), Code::kUnavailable);
  closer.join();
}

}  // namespace
}  // namespace forebay
