#include "cluster/rendezvous.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <future>
#include <sstream>
#include <thread>
#include <vector>

#include "base/eventually_test_support.h"
#include "store/scratch_folder.h"

namespace forebay {

namespace {

const std::string kToken = "0123456789abcdef0123456789abcdef";

HostCard card_of(int rank, uint64_t incarnation = 1) {
  return {"10.0.0." + std::to_string(rank) + ":4100", incarnation, kToken + std::to_string(rank)};
}

Result<Membership> meet(const std::string& folder, int rank, int hosts, uint64_t generation = 0,
                        int deadline_ms = 60'000, uint64_t incarnation = 1) {
  return folder_rendezvous(folder, hosts, generation)
      ->meet(rank, card_of(rank, incarnation), std::chrono::milliseconds(deadline_ms), {});
}

/// Makes all cards in a folder a minute older. Cards are told apart by the file system's clock, and
/// a kill and a start take longer than its tick.
void make_older(const std::string& folder) {
  std::error_code none;
  for (const auto& entry : std::filesystem::directory_iterator(folder, none))
    std::filesystem::last_write_time(entry, entry.last_write_time() - std::chrono::minutes(1));
}

/// Returns whether as many cards of that incarnation are in the folder.
bool has_card_of(const std::string& folder, uint64_t incarnation, int hosts) {
  int found = 0;
  std::error_code none;
  for (const auto& entry : std::filesystem::directory_iterator(folder, none)) {
    std::stringstream text;
    text << std::ifstream(entry.path()).rdbuf();
    const Result<HostCard> card = parse_card(text.str());
    found += card.ok() && card->incarnation == incarnation ? 1 : 0;
  }
  return found >= hosts;
}

}  // namespace

TEST(Rendezvous, CardsComeBackAsTheyWereAndAreSmall) {
  const std::string text = card_text(card_of(7));
  EXPECT_LT(text.size(), 200u);
  const auto card = parse_card(text);
  ASSERT_TRUE(card.ok());
  EXPECT_EQ(card->address, card_of(7).address);
  EXPECT_EQ(card->incarnation, 1u);
  EXPECT_EQ(card->token, card_of(7).token);
}

TEST(Rendezvous, WhatIsNoCardIsCorrupt) {
  const std::string right = card_text(card_of(7));
  for (size_t length = 0; length < right.size(); ++length)
    EXPECT_EQ(parse_card(right.substr(0, length)).status().code(), Code::kCorrupt) << length;
  for (const std::string& wrong :
       {right + "\n", right + right, "x" + right, std::string(2000, 'x') + "\n",
        std::string("forebay-host-1 nowhere 1 ") + kToken + "\n", std::string("forebay-host-1 a:1 1 short\n"),
        std::string("forebay-host-1 a:1 -x ") + kToken + "\n"}) {
    const auto card = parse_card(wrong);
    EXPECT_TRUE(!card.ok() || card->token == card_of(7).token) << wrong;
  }
}

TEST(Rendezvous, AllWhoMeetInAFolderKnowAll) {
  const ScratchFolder folder;
  constexpr int kHosts = 8;
  std::vector<std::optional<Result<Membership>>> met(kHosts);
  std::vector<std::thread> hosts;
  for (int rank = 0; rank < kHosts; ++rank)
    hosts.emplace_back(
        [&, rank] { met[static_cast<size_t>(rank)].emplace(meet(folder.path("job"), rank, kHosts, 5)); });
  for (std::thread& host : hosts) host.join();
  for (const auto& each : met) {
    ASSERT_TRUE(each->ok()) << each->status().to_string();
    const Membership& members = **each;
    EXPECT_EQ(members.generation, 5u);
    ASSERT_EQ(members.hosts.size(), 8u);
    for (int rank = 0; rank < kHosts; ++rank) {
      EXPECT_EQ(members.hosts[static_cast<size_t>(rank)].address, card_of(rank).address);
      EXPECT_EQ(members.peers()[static_cast<size_t>(rank)].pass.token, card_of(rank).token);
      EXPECT_EQ(members.peers()[static_cast<size_t>(rank)].pass.generation, 5u);
    }
  }
}

TEST(Rendezvous, WhatAnotherJobLeftInTheFolderDoesNotCount) {
  const ScratchFolder folder;
  const std::string place = folder.path("jobs");
  const auto meet_of = [&](const std::string& job, int rank, uint64_t incarnation, int deadline_ms) {
    return folder_rendezvous(place, 2, 0, 0, job)
        ->meet(rank, card_of(rank, incarnation), std::chrono::milliseconds(deadline_ms), {});
  };
  for (const std::string& job : {std::string("17.0.0"), std::string("a/../b"), std::string()}) {
    const uint64_t incarnation = 10 + job.size();
    auto other = std::async(std::launch::async, [&] { return meet_of(job, 1, incarnation, 60'000); });
    const Result<Membership> met = meet_of(job, 0, incarnation, 60'000);
    ASSERT_TRUE(met.ok()) << met.status().to_string();
    ASSERT_TRUE(other.get().ok());
    EXPECT_EQ(met->hosts[1].incarnation, incarnation) << job;
  }
  EXPECT_EQ(meet_of("18.0.0", 0, 1, 20).status().code(), Code::kUnavailable);
}

TEST(Rendezvous, WhoIsMissingIsSaid) {
  const ScratchFolder folder;
  const auto met = meet(folder.path("job"), 1, 4, 0, 20);
  EXPECT_EQ(met.status().code(), Code::kUnavailable);
  for (const std::string& words : {folder.path("job"), std::string("4 ranks 0, 2, 3 had not come")})
    EXPECT_NE(met.status().message().find(words), std::string::npos) << met.status().message();
  EXPECT_EQ(met.status().message().find(kToken), std::string::npos);
}

TEST(Rendezvous, AStopEndsTheWaiting) {
  const ScratchFolder folder;
  std::stop_source stop;
  stop.request_stop();
  const auto met =
      folder_rendezvous(folder.path("job"), 2, 0)->meet(0, card_of(0), std::chrono::minutes(5), stop.get_token());
  EXPECT_EQ(met.status().code(), Code::kCancelled);
}

TEST(Rendezvous, AnotherGenerationIsNotMet) {
  const ScratchFolder folder;
  (void)meet(folder.path("job"), 0, 2, 1, 1);
  EXPECT_EQ(meet(folder.path("job"), 1, 2, 2, 20).status().code(), Code::kUnavailable);
  EXPECT_TRUE(meet(folder.path("job"), 1, 2, 1, 400).ok());
}

TEST(Rendezvous, ALaterStartOfARankTakesThePlaceOfTheEarlier) {
  const ScratchFolder folder;
  (void)meet(folder.path("job"), 0, 2, 0, 1, /*incarnation=*/1);
  (void)meet(folder.path("job"), 0, 2, 0, 1, /*incarnation=*/2);
  const auto met = meet(folder.path("job"), 1, 2, 0, 400);
  ASSERT_TRUE(met.ok());
  EXPECT_EQ(met->hosts[0].incarnation, 2u);
}

TEST(Rendezvous, CardsOfARunThatWasKilledAreNotBelievedWhileTheNextOneStarts) {
  const ScratchFolder folder;
  constexpr int kHosts = 3;
  // The hosts see each other's new cards, so none of them waits until the doubt ends, which would
  // take hours.
  std::stop_source stop;
  const auto start = [&](int rank, uint64_t incarnation) {
    HostCard card = card_of(rank, incarnation);
    card.token += std::to_string(incarnation);
    return std::async(std::launch::async, [&folder, &stop, rank, card] {
      return folder_rendezvous(folder.path("job"), kHosts, 0)
          ->meet(rank, card, std::chrono::hours(24), stop.get_token());
    });
  };
  for (const uint64_t incarnation : {1, 2}) {
    make_older(folder.path("job"));
    std::vector<std::future<Result<Membership>>> met;
    for (int rank = 0; rank < kHosts; ++rank) {
      met.push_back(start(rank, incarnation));
      // The first host is alone with files that the others left behind.
      EXPECT_TRUE(eventually([&] { return has_card_of(folder.path("job"), incarnation, rank + 1); }));
    }
    EXPECT_TRUE(eventually([&] {
      return std::ranges::all_of(
          met, [](const auto& each) { return each.wait_for(std::chrono::seconds(0)) == std::future_status::ready; });
    }));
    stop.request_stop();  // if one has not met the others
    stop = std::stop_source();
    for (auto& each : met) {
      const Result<Membership> membership = each.get();
      ASSERT_TRUE(membership.ok()) << membership.status().to_string();
      for (const HostCard& host : membership->hosts) EXPECT_EQ(host.incarnation, incarnation) << host.address;
    }
  }
}

// One process of a job is killed and restarted alone: the others have met and write no cards any
// more.
TEST(Rendezvous, WhoIsStartedAnewAloneMeetsThoseWhoAreThereInTime) {
  const ScratchFolder folder;
  (void)meet(folder.path("job"), 0, 2, 0, 1);
  make_older(folder.path("job"));
  const auto begun = std::chrono::steady_clock::now();
  const auto met = meet(folder.path("job"), 1, 2, 0, 2000);
  ASSERT_TRUE(met.ok()) << met.status().to_string();
  EXPECT_GE(std::chrono::steady_clock::now() - begun, std::chrono::milliseconds(500));
  EXPECT_EQ(met->hosts[0].address, card_of(0).address);
}

TEST(Rendezvous, WhoListensWasThereAllAlongAndNeedsNoNewCard) {
  const ScratchFolder folder;
  const int listening = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in at{};
  at.sin_family = AF_INET;
  at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof at;
  ASSERT_EQ(::bind(listening, reinterpret_cast<const sockaddr*>(&at), sizeof at), 0);
  ASSERT_EQ(::listen(listening, 8), 0);
  ASSERT_EQ(::getsockname(listening, reinterpret_cast<sockaddr*>(&at), &length), 0);
  HostCard there = card_of(0);
  there.address = "127.0.0.1:" + std::to_string(ntohs(at.sin_port));
  const auto way = [&] { return folder_rendezvous(folder.path("job"), 2, 0); };
  (void)way()->meet(0, there, std::chrono::milliseconds(1), {});
  make_older(folder.path("job"));
  // The time of doubt alone would be longer than this deadline.
  std::stop_source stop;
  auto met = std::async(std::launch::async,
                        [&] { return way()->meet(1, card_of(1), std::chrono::hours(1), stop.get_token()); });
  EXPECT_EQ(met.wait_for(std::chrono::seconds(60)), std::future_status::ready);
  stop.request_stop();
  const auto found = met.get();
  ASSERT_TRUE(found.ok()) << found.status().to_string();
  EXPECT_EQ(found->hosts[0].address, there.address);
  ::close(listening);
}

TEST(Rendezvous, TokensAreForTheUserAlone) {
  const ScratchFolder folder;
  (void)meet(folder.path("job"), 0, 2, 0, 1);
  for (const auto& entry : std::filesystem::directory_iterator(folder.path("job"))) {
    struct stat info{};
    ASSERT_EQ(::stat(entry.path().c_str(), &info), 0);
    EXPECT_EQ(info.st_mode & 077, 0u) << entry.path();
  }
}

TEST(Rendezvous, AFolderThatCannotBeMadeIsUnavailableByName) {
  const auto met = meet("/proc/no/such/folder", 0, 2);
  EXPECT_EQ(met.status().code(), Code::kUnavailable);
  EXPECT_NE(met.status().message().find("/proc/no/such/folder"), std::string::npos);
}

TEST(Rendezvous, StaticHostsMeetNobody) {
  const auto met = static_rendezvous({"a:1", "b:2"}, kToken, 3)->meet(0, {}, std::chrono::milliseconds(0), {});
  ASSERT_TRUE(met.ok());
  EXPECT_EQ(met->peers()[1].address, "b:2");
  EXPECT_EQ(met->peers()[1].pass.token, kToken);
  EXPECT_EQ(met->peers()[1].pass.generation, 3u);
}

}  // namespace forebay
