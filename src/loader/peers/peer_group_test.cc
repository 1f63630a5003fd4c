#include "loader/peers/peer_group.h"

#include <gtest/gtest.h>

#include <chrono>
#include <map>
#include <thread>

#include "base/eventually_test_support.h"
#include "base/source.h"
#include "cluster/simulated/simulated_network.h"
#include "forebay/ledger.h"
#include "store/scratch_folder.h"
#include "telemetry/log.h"

namespace forebay {

namespace {

const JobPass kJobPass{"0123456789abcdef0123456789abcdef", 1};

Hash128 entry_of(uint64_t n) { return hash128(&n, sizeof n); }

std::shared_ptr<const Columns> one_row(uint64_t n) {
  auto columns = std::make_shared<Columns>();
  Field field;
  field.name = "x";
  field.dtype = DType::kUint8;
  field.shape = {100};
  columns->schema = Schema({field});
  columns->rows = 1;
  columns->values = {{Buffer::allocate(100), {}}};
  std::fill_n(columns->values[0].values.data(), 100, static_cast<uint8_t>(n));
  return columns;
}

/// A source that has learned some versions.
class Learns final : public SampleSource, private LearnedVersions {
 public:
  std::map<int64_t, uint64_t> known;
  Hash128 name(int64_t id) const override { return entry_of(static_cast<uint64_t>(1000 + id)); }

  const Schema& schema() const override { return schema_; }
  int64_t size() const override { return 10; }
  Hash128 version() const override { return {}; }
  uint64_t index_bytes() const override { return 0; }
  std::string key(int64_t) const override { return ""; }
  Fetch fetch(int64_t) const override { return {}; }
  Status load(int64_t, Buffer, Record&) const override { return {}; }
  const LearnedVersions* learned_versions() const override { return this; }

 private:
  std::optional<Fetch> version_request(int64_t) const override { return std::nullopt; }
  void record_answer(int64_t, uint64_t) const override {}
  Identity learn(int64_t id, uint64_t) const override { return name(id); }
  std::optional<uint64_t> learned_version(int64_t id) const override {
    return known.contains(id) ? std::optional(known.at(id)) : std::nullopt;
  }
  void learn_from_peer(int64_t, uint64_t) const override {}

  const Schema schema_;
};

/// Two hosts of a job in one process; element n is owned by host n % 2.
class PeerGroupTest : public testing::Test {
 protected:
  void SetUp() override {
    set_log_sink([](const std::string&) {});
    const std::vector<std::string> addresses = {"a:1", "b:1"};
    for (int rank = 0; rank < 2; ++rank) {
      const auto way = static_rendezvous(addresses, kJobPass.token, kJobPass.generation);
      const auto group = std::make_shared<PeerGroup>();
      auto job = Job::open({.transport = network_->transport(),
                            .rank = rank,
                            .own = {addresses[static_cast<size_t>(rank)], kJobPass},
                            .services = {{std::string(kEntryServiceName), group->service()}}},
                           *way, {});
      ASSERT_TRUE(job.ok()) << job.status().to_string();
      group->join_job(std::move(*job));
      groups_.push_back(group);
      // Caches of one folder are shared within a process, so each host has its own folder.
      CacheOptions options;
      options.ram_bytes = options.disk_bytes = 1 << 20;
      options.dir = folder_.path(std::to_string(rank));
      options.cache_id = entry_of(99);
      auto cache = open_cache(options);
      ASSERT_TRUE(cache.ok()) << cache.status().to_string();
      own_.push_back(*cache);
      caches_.push_back(groups_.back()->join(*cache));
      groups_.back()->set_owner([](int64_t element) { return Owner{static_cast<int>(element % 2), element}; });
    }
  }
  void TearDown() override { set_log_sink(nullptr); }

  /// Looks up an element on host 0, as the engine does; null if it has to be computed.
  std::shared_ptr<const Columns> get(uint64_t n) {
    for (int tries = 0; tries < 3; ++tries) {
      auto found = caches_[0]->find({entry_of(n), static_cast<int64_t>(n), /*peers=*/true});
      if (!found) return nullptr;
      if (found->columns) return found->columns;
      const Result<Buffer> bytes = read_wait(*found->store, found->request, {});
      if (!bytes.ok()) {
        EXPECT_EQ(bytes.status().code(), Code::kOutOfBudget) << bytes.status().to_string();
        continue;
      }
      auto opened = caches_[0]->open(entry_of(n), *bytes);
      if (opened.ok()) return *opened;
      EXPECT_EQ(opened.status().code(), Code::kCorrupt);
    }
    ADD_FAILURE() << "it is asked for again and again";
    return nullptr;
  }

  const ScratchFolder folder_;
  const std::shared_ptr<SimulatedNetwork> network_ = SimulatedNetwork::make({});
  std::vector<std::shared_ptr<PeerGroup>> groups_;
  std::vector<std::shared_ptr<TieredCache>> own_, caches_;
};

}  // namespace

TEST_F(PeerGroupTest, a_repeated_request_outlives_the_first_one) {
  constexpr uint64_t kOthers = (1 << 14) - 1;  // makes the first note of entry 1 the oldest one
  const auto ask = [&](uint64_t n) { return caches_[0]->find({entry_of(n), static_cast<int64_t>(n), /*peers=*/true}); };
  const auto give_nothing = [&](uint64_t n) { return caches_[0]->open(entry_of(n), Buffer()).status().message(); };
  ASSERT_TRUE(ask(1));
  EXPECT_EQ(give_nothing(1), "no peer has the entry");
  for (uint64_t i = 1; i <= kOthers; ++i) ASSERT_TRUE(ask(2 * i + 1));
  EXPECT_FALSE(ask(1)) << "once it is made without asking";
  ASSERT_TRUE(ask(1));
  EXPECT_EQ(give_nothing(1), "no peer has the entry");
}

TEST_F(PeerGroupTest, FindsEntriesInThePeersMemoryAndOnItsDisk) {
  own_[1]->put(entry_of(1), one_row(1), 1, KeepIn::kAnyTier);
  own_[1]->put(entry_of(3), one_row(3), 1, KeepIn::kMemory);
  for (const uint64_t n : {1, 3}) {
    const auto columns = get(n);
    ASSERT_TRUE(columns) << n;
    EXPECT_EQ(columns->values[0].values.data()[7], n);
  }
  EXPECT_EQ(caches_[0]->stats().peer_hits, 2u);
  Ledger ledger;
  groups_[0]->add_to(ledger);
  ASSERT_EQ(ledger.stores.size(), 1u);
  EXPECT_EQ(ledger.stores.front().name, "peer b:1");
  EXPECT_EQ(ledger.stores.front().requests, 2u);
}

TEST_F(PeerGroupTest, AReceivedEntryIsCachedIfMemoryIsFree) {
  own_[1]->put(entry_of(1), one_row(1), 1, KeepIn::kAnyTier);
  ASSERT_TRUE(get(1));
  network_->set_health("b:1", HostHealth::kDead);
  EXPECT_TRUE(get(1));
}

// The second answer is the peer's too, and does not count as a hit of the local disk.
TEST_F(PeerGroupTest, TwoRequestsForOneEntryBothSucceed) {
  own_[1]->put(entry_of(1), one_row(1), 1, KeepIn::kMemory);
  std::vector<Buffer> answers;
  for (int i = 0; i < 2; ++i) {
    const auto found = caches_[0]->find({entry_of(1), 1, /*peers=*/true});
    ASSERT_TRUE(found && !found->columns);
    Result<Buffer> bytes = read_wait(*found->store, found->request, {});
    ASSERT_TRUE(bytes.ok()) << bytes.status().to_string();
    answers.push_back(std::move(*bytes));
  }
  for (Buffer& answer : answers) EXPECT_TRUE(caches_[0]->open(entry_of(1), std::move(answer)).ok());
  EXPECT_EQ(caches_[0]->stats().disk.hits, 0u);
}

// One loader has asked a peer when another one stores the entry, which a third one finds.
TEST_F(PeerGroupTest, AnEmptyAnswerDoesNotReplaceAnEntryStoredMeanwhile) {
  const auto find = [&] { return caches_[0]->find({entry_of(1), 1, /*peers=*/true}); };
  ASSERT_TRUE(find());
  own_[0]->put(entry_of(1), one_row(1), 1, KeepIn::kAnyTier);
  ASSERT_TRUE(find());
  EXPECT_FALSE(caches_[0]->open(entry_of(1), Buffer()).ok());
  EXPECT_EQ(own_[0]->stats().disk.damaged, 0u);
  EXPECT_TRUE(get(1));
}

TEST_F(PeerGroupTest, NoPeerIsAskedForAnOwnEntry) {
  own_[1]->put(entry_of(2), one_row(2), 1, KeepIn::kAnyTier);
  EXPECT_FALSE(get(2));
  Ledger ledger;
  groups_[0]->add_to(ledger);
  EXPECT_TRUE(ledger.stores.empty());
}

TEST_F(PeerGroupTest, AMissingEntryIsRequestedAgainAtTheNextLookup) {
  EXPECT_FALSE(get(1));
  own_[1]->put(entry_of(1), one_row(1), 1, KeepIn::kAnyTier);
  EXPECT_TRUE(get(1));
}

TEST_F(PeerGroupTest, DeadFrozenAndDamagedPeersAreMisses) {
  for (uint64_t n = 1; n < 40; n += 2) own_[1]->put(entry_of(n), one_row(n), 1, KeepIn::kAnyTier);
  network_->set_link({.flips = 1});
  for (uint64_t n = 1; n < 10; n += 2) {
    const auto columns = get(n);
    EXPECT_TRUE(!columns || columns->values[0].values.data()[99] == n);
  }
  network_->set_link({});
  for (const HostHealth health : {HostHealth::kDead, HostHealth::kFrozen}) {
    network_->set_health("b:1", health);
    for (uint64_t n = 21; n < 40; n += 2) EXPECT_FALSE(get(n));
  }
}

TEST_F(PeerGroupTest, AnEntryUnderAWrongKeyIsRefused) {
  // The peer returns an entry of another name, with valid checksums.
  class Liar : public EntrySource {
   public:
    explicit Liar(std::shared_ptr<TieredCache> cache) : cache_(std::move(cache)) {}
    std::optional<Buffer> entry(const Hash128&) override { return cache_->stored(entry_of(5)); }

   private:
    const std::shared_ptr<TieredCache> cache_;
  };
  own_[1]->put(entry_of(5), one_row(5), 1, KeepIn::kAnyTier);
  groups_[1]->job()->close();
  const auto lying = network_->transport()->listen(
      "b:1", kJobPass,
      {{std::string(kEntryServiceName), std::make_shared<EntryService>(std::make_shared<Liar>(own_[1]))}});
  ASSERT_TRUE(lying.ok());
  EXPECT_FALSE(get(7));
  EXPECT_TRUE(get(5));
}

TEST_F(PeerGroupTest, AClosedGroupServesNothingButStillSendsRequests) {
  own_[0]->put(entry_of(2), one_row(2), 1, KeepIn::kAnyTier);
  own_[1]->put(entry_of(1), one_row(1), 1, KeepIn::kAnyTier);
  groups_[0]->job()->close();
  EXPECT_FALSE(caches_[1]->find(entry_of(2)));
  EXPECT_TRUE(get(1));
}

TEST_F(PeerGroupTest, AnEntryThatItsOwnerWillComputeIsAwaited) {
  groups_[1]->set_position(0);
  std::thread makes([&] {
    // The owner has been asked, and did not have it.
    EXPECT_TRUE(eventually([&] {
      Ledger ledger;
      groups_[0]->add_to(ledger);
      return !ledger.stores.empty() && ledger.stores.front().requests + ledger.stores.front().in_flight > 0;
    }));
    own_[1]->put(entry_of(3), one_row(3), 1, KeepIn::kAnyTier);
  });
  EXPECT_TRUE(get(3));
  makes.join();
}

TEST_F(PeerGroupTest, AnEntryThatItsOwnerHasPassedIsNotAwaited) {
  groups_[1]->set_position(8);
  EXPECT_FALSE(get(7));
  groups_[1]->set_position(1'000);
  EXPECT_FALSE(get(9));
  EXPECT_FALSE(get(8)) << "owned here";
}

TEST_F(PeerGroupTest, ALearnedVersionIsServedForItsOwnSampleOnly) {
  const auto source = std::make_shared<Learns>();
  source->known[1] = 77;
  const auto numbers = std::make_shared<const ElementNumbers>(std::vector<int64_t>{source->size()});
  groups_[1]->set_versions(numbers, {source});
  groups_[1]->set_owner([](int64_t element) { return Owner{static_cast<int>(element % 2), element}; });
  groups_[1]->set_position(1'000);
  const auto ask = [&](int64_t name_of, int64_t id) -> std::optional<uint64_t> {
    const auto found = caches_[0]->find_version(source->name(name_of), id);
    if (!found) return std::nullopt;
    const Result<Buffer> bytes = read_wait(*found->store, found->request, {});
    EXPECT_TRUE(bytes.ok()) << bytes.status().to_string();
    return caches_[0]->version_of(source->name(name_of), *bytes);
  };
  EXPECT_EQ(ask(1, 1), 77u);
  EXPECT_FALSE(ask(3, 3)) << "it has learned nothing of that one";
  EXPECT_FALSE(caches_[0]->find_version(source->name(3), 3)) << "the next time nobody is asked";
  EXPECT_TRUE(caches_[0]->find_version(source->name(3), 3)) << "and then again";
  EXPECT_FALSE(ask(1, 3)) << "the name of another sample";
  EXPECT_FALSE(caches_[0]->find_version(source->name(2), 2)) << "owned here";
}

// Elements of the second branch follow those of the first, here ten, so that one number has one
// owner on all hosts.
TEST_F(PeerGroupTest, ACacheOfALaterBranchAsksTheOwnersOfItsOwnElements) {
  const auto second = groups_[0]->join(own_[0], /*first_element=*/11);
  own_[1]->put(entry_of(2), one_row(2), 1, KeepIn::kAnyTier);
  own_[1]->put(entry_of(3), one_row(3), 1, KeepIn::kAnyTier);
  const auto found = second->find({entry_of(2), 2, /*peers=*/true});
  ASSERT_TRUE(found && !found->columns) << "element 13 is owned by the other host";
  const Result<Buffer> bytes = read_wait(*found->store, found->request, {});
  ASSERT_TRUE(bytes.ok()) << bytes.status().to_string();
  EXPECT_TRUE(second->open(entry_of(2), *bytes).ok());
  EXPECT_FALSE(second->find({entry_of(3), 3, /*peers=*/true})) << "element 14 is owned here";
  EXPECT_FALSE(second->find({entry_of(77), -1, /*peers=*/true})) << "an unknown element";
}

TEST_F(PeerGroupTest, LearnedVersionsAreThoseOfTheBranch) {
  const auto first = std::make_shared<Learns>(), second = std::make_shared<Learns>();
  first->known[1] = 77;
  second->known[1] = 88;
  const auto numbers = std::make_shared<const ElementNumbers>(std::vector<int64_t>{first->size(), second->size()});
  groups_[1]->set_versions(numbers, {first, second});
  const auto later = groups_[0]->join(own_[0], numbers->first(1));
  const auto version = [&](TieredCache& cache) -> std::optional<uint64_t> {
    const auto found = cache.find_version(first->name(1), 1);
    if (!found) return std::nullopt;
    const Result<Buffer> bytes = read_wait(*found->store, found->request, {});
    return bytes.ok() ? cache.version_of(first->name(1), *bytes) : std::nullopt;
  };
  EXPECT_EQ(version(*caches_[0]), 77u);
  EXPECT_EQ(version(*later), 88u);
}

TEST_F(PeerGroupTest, AnInvalidElementIsNotAwaited) {
  groups_[1]->set_position(0);
  for (const int64_t element : {INT64_MAX, INT64_MIN, int64_t{-1}}) {
    const auto found = caches_[0]->find({entry_of(77), element, /*peers=*/true});
    EXPECT_TRUE(!found || !found->columns);
  }
}

}  // namespace forebay
