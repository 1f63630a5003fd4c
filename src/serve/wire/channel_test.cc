#include "serve/wire/channel.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <thread>

#include <gtest/gtest.h>

#include "serve/wait_clock_test_support.h"

namespace forebay {
namespace {

using std::chrono::milliseconds;
constexpr milliseconds kSoon{30'000};
constexpr auto kAccept = Channel::Descriptors::kAccept, kRefuse = Channel::Descriptors::kRefuse;

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
  Channel from(std::move(ends.a), 1 << 26, kRefuse), to(std::move(ends.b), 1 << 26, kRefuse);
  const std::string body(20'000'000, 'x');
  std::thread sender([&] {
    EXPECT_TRUE(from.send(MessageType::kOpen, body).ok());
    EXPECT_TRUE(from.send(MessageType::kInfo, "").ok());
  });
  const auto first = to.receive(kSoon), second = to.receive(kSoon);
  sender.join();
  ASSERT_TRUE(first.ok() && first->has_value() && second.ok() && second->has_value());
  EXPECT_EQ((*first)->body, body);
  EXPECT_EQ((*second)->type, MessageType::kInfo);
}

TEST(Channel, keeps_what_came_of_a_message_when_time_is_up) {
  Ends ends;
  const int raw = ends.a.get();
  serve_test::ManualClock clock;
  Channel to(std::move(ends.b), 100, kRefuse, clock);
  const char head[8] = {5, 0, 0, 0, 6, 0, 0, 0};
  ASSERT_EQ(write(raw, head, 8), 8);
  ASSERT_EQ(write(raw, "ab", 2), 2);
  EXPECT_FALSE(to.receive(milliseconds(5000))->has_value());
  EXPECT_EQ(clock.passed(), milliseconds(5000));
  ASSERT_EQ(write(raw, "cde", 3), 3);
  const auto frame = to.receive(kSoon);
  ASSERT_TRUE(frame.ok() && frame->has_value());
  EXPECT_EQ((*frame)->body, "abcde");
}

TEST(Channel, refuses_a_length_before_it_takes_memory) {
  Ends ends;
  const int raw = ends.a.get();
  Channel to(std::move(ends.b), 100, kRefuse);
  const unsigned char head[8] = {0xff, 0xff, 0xff, 0xff, 2, 0, 0, 0};
  ASSERT_EQ(write(raw, head, 8), 8);
  EXPECT_EQ(to.receive(kSoon).status().code(), Code::kCorrupt);
}

TEST(Channel, the_other_end_that_has_gone_is_unavailable) {
  Ends ends;
  Channel to(std::move(ends.b), 100, kRefuse);
  ends.a = FileDescriptor();
  EXPECT_EQ(to.receive(kSoon).status().code(), Code::kUnavailable);
  EXPECT_EQ(to.send(MessageType::kInfo, "x").code(), Code::kUnavailable);
}

TEST(Channel, hands_descriptors_over_only_where_they_are_taken) {
  const FileDescriptor file(memfd_create("t", MFD_CLOEXEC));
  ASSERT_EQ(write(file.get(), "hello", 5), 5);
  const int fd = file.get();
  {
    Ends ends;
    Channel from(std::move(ends.a), 100, kRefuse), to(std::move(ends.b), 100, kAccept);
    ASSERT_TRUE(from.send(MessageType::kSlabs, "s", std::span(&fd, 1)).ok());
    const auto frame = to.receive(kSoon);
    ASSERT_TRUE(frame.ok() && frame->has_value());
    ASSERT_EQ((*frame)->descriptors.size(), 1U);
    char text[5];
    EXPECT_EQ(pread((*frame)->descriptors[0].get(), text, 5, 0), 5);
  }
  Ends ends;
  Channel from(std::move(ends.a), 100, kRefuse), to(std::move(ends.b), 100, kRefuse);
  ASSERT_TRUE(from.send(MessageType::kSlabs, "s", std::span(&fd, 1)).ok());
  EXPECT_EQ(to.receive(kSoon).status().code(), Code::kCorrupt);
}

TEST(Channel, shutting_down_ends_a_wait) {
  Ends ends;
  Channel to(std::move(ends.b), 100, kRefuse);
  std::thread closer([&] { to.shut_down(); });
  EXPECT_EQ(to.receive(kSoon).status().code(), Code::kUnavailable);
  closer.join();
}

TEST(Channel, a_frame_may_come_in_any_pieces) {
  Ends ends;
  const int raw = ends.a.get();
  serve_test::ManualClock clock;
  Channel to(std::move(ends.b), 100, kRefuse, clock);
  const char bytes[13] = {5, 0, 0, 0, 6, 0, 0, 0, 'a', 'b', 'c', 'd', 'e'};
  for (size_t i = 0; i + 1 < sizeof bytes; ++i) {
    ASSERT_EQ(write(raw, bytes + i, 1), 1);
    ASSERT_FALSE(to.receive(milliseconds(0))->has_value()) << i;
  }
  ASSERT_EQ(write(raw, bytes + 12, 1), 1);
  EXPECT_EQ((*to.receive(milliseconds(0)))->body, "abcde");
}

TEST(Channel, frames_that_came_together_are_received_one_by_one) {
  Ends ends;
  Channel from(std::move(ends.a), 100, kRefuse), to(std::move(ends.b), 100, kRefuse);
  for (const char* body : {"one", "", "three"}) ASSERT_TRUE(from.send(MessageType::kStats, body).ok());
  for (const char* body : {"one", "", "three"}) EXPECT_EQ((*to.receive(kSoon))->body, body);
}

TEST(Channel, a_limit_that_was_raised_holds_for_the_next_frame) {
  Ends ends;
  Channel from(std::move(ends.a), 1000, kRefuse), to(std::move(ends.b), 10, kRefuse);
  ASSERT_TRUE(from.send(MessageType::kHello, std::string(10, 'x')).ok());
  ASSERT_TRUE(to.receive(kSoon).ok());
  to.set_most_bytes(20);
  ASSERT_TRUE(from.send(MessageType::kOpen, std::string(20, 'x')).ok());
  EXPECT_EQ((*to.receive(kSoon))->body.size(), 20U);
  ASSERT_TRUE(from.send(MessageType::kOpen, std::string(21, 'x')).ok());
  EXPECT_EQ(to.receive(kSoon).status().code(), Code::kCorrupt);
}

TEST(Channel, more_descriptors_than_fit_into_a_frame_are_an_error_of_the_sender) {
  Ends ends;
  Channel from(std::move(ends.a), 100, kRefuse);
  const std::vector<int> many(Channel::kMaxDescriptors + 1, 0);
  EXPECT_EQ(from.send(MessageType::kSlabs, "", many).code(), Code::kInternal);
}

TEST(Channel, a_frame_with_the_most_descriptors_arrives_whole) {
  const FileDescriptor file(memfd_create("t", MFD_CLOEXEC));
  Ends ends;
  Channel from(std::move(ends.a), 100, kRefuse), to(std::move(ends.b), 100, kAccept);
  const std::vector<int> many(Channel::kMaxDescriptors, file.get());
  ASSERT_TRUE(from.send(MessageType::kSlabs, "s", many).ok());
  EXPECT_EQ((*to.receive(kSoon))->descriptors.size(), Channel::kMaxDescriptors);
}

TEST(Channel, a_frame_that_says_more_descriptors_than_it_has_is_corrupt) {
  Ends ends;
  const int raw = ends.a.get();
  Channel to(std::move(ends.b), 100, kAccept);
  const unsigned char head[8] = {0, 0, 0, 0, 102, 0, 1, 0};
  ASSERT_EQ(write(raw, head, 8), 8);
  EXPECT_EQ(to.receive(kSoon).status().code(), Code::kCorrupt);
}

TEST(Channel, a_frame_that_says_more_descriptors_than_any_may_have_is_corrupt) {
  Ends ends;
  const int raw = ends.a.get();
  Channel to(std::move(ends.b), 100, kAccept);
  const unsigned char head[8] = {0, 0, 0, 0, 102, 0, 65, 0};
  ASSERT_EQ(write(raw, head, 8), 8);
  EXPECT_EQ(to.receive(kSoon).status().code(), Code::kCorrupt);
}

TEST(Channel, an_end_inside_of_a_frame_is_unavailable) {
  for (const size_t length : {1, 7, 8, 10}) {
    Ends ends;
    const char bytes[13] = {5, 0, 0, 0, 6, 0, 0, 0, 'a', 'b', 'c', 'd', 'e'};
    Channel to(std::move(ends.b), 100, kRefuse);
    ASSERT_EQ(write(ends.a.get(), bytes, length), static_cast<ssize_t>(length));
    ends.a = FileDescriptor();
    EXPECT_EQ(to.receive(kSoon).status().code(), Code::kUnavailable) << length;
  }
}

TEST(Channel, what_does_not_fit_without_waiting_is_not_sent_in_part) {
  Ends ends;
  serve_test::ManualClock clock;
  Channel from(std::move(ends.a), 4096, kRefuse), to(std::move(ends.b), 4096, kRefuse, clock);
  const std::string body(1000, 'x');
  int sent = 0;
  while (from.try_send(MessageType::kFreed, body)) ++sent;
  EXPECT_GT(sent, 0);
  for (int i = 0; i < sent; ++i) EXPECT_EQ((*to.receive(milliseconds(0)))->body, body) << i;
  EXPECT_FALSE(to.receive(milliseconds(0))->has_value());
  EXPECT_TRUE(from.try_send(MessageType::kFreed, body)) << "there is room again";
}

TEST(Channel, two_threads_that_send_do_not_mix_their_frames) {
  Ends ends;
  Channel from(std::move(ends.a), 1 << 20, kRefuse), to(std::move(ends.b), 1 << 20, kRefuse);
  const auto send_all = [&](char letter) {
    for (int i = 0; i < 50; ++i) EXPECT_TRUE(from.send(MessageType::kStats, std::string(30'000, letter)).ok());
  };
  std::thread a([&] { send_all('a'); }), b([&] { send_all('b'); });
  for (int i = 0; i < 100; ++i) {
    const auto frame = to.receive(kSoon);
    ASSERT_TRUE(frame.ok() && frame->has_value());
    ASSERT_EQ((*frame)->body, std::string(30'000, (*frame)->body.front()));
  }
  a.join();
  b.join();
}

}  // namespace
}  // namespace forebay
