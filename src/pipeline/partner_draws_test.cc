#include "pipeline/partner_draws.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "pipeline/itinerary.h"

namespace forebay {
namespace {

constexpr int64_t kSamples = 10, kPartners = 3;

std::shared_ptr<const PartnerDraws> shuffled_partners() {
  return std::make_shared<const PartnerDraws>(
      kSamples,
      std::vector<PartnerDraws::Part>{{shuffled_order(kPartners, 5), first_samples(kPartners), kSamples},
                                      {sequential_order(2), spread_over(first_samples(6), 2), kSamples * kPartners}});
}

IndexedItinerary itinerary(int64_t batch, int64_t world = 1, int64_t rank = 0) {
  return IndexedItinerary(
      shuffled_order(kSamples, 1), BranchSamples{first_samples(kSamples), 7, nullptr, shuffled_partners()},
      EqualBatches({.epoch_size = kSamples, .batch_size = batch, .world_size = world, .last = LastPolicy::kPartial}),
      rank, std::nullopt);
}

// The rows of the first epochs, by epoch and position.
std::map<std::pair<int64_t, int64_t>, int64_t> ids(int64_t batch, int64_t world, int64_t epochs) {
  std::map<std::pair<int64_t, int64_t>, int64_t> found;
  for (int64_t rank = 0; rank < world; ++rank) {
    const IndexedItinerary steps = itinerary(batch, world, rank);
    for (Cursor at; at.epoch < epochs;) {
      const StepPlan step = *steps.planned(at);
      for (const Row& row : step.rows)
        if (!row.padding) found[{step.at.epoch, row.position}] = row.id;
      at = step.after;
    }
  }
  return found;
}

TEST(PartnerDraws, go_on_over_passes_in_an_order_of_their_own) {
  const auto order = shuffled_order(kPartners, 5), samples = shuffled_order(kSamples, 1);
  int64_t draw = 0;
  for (const auto& [at, id] : ids(4, 1, 6)) {
    EXPECT_EQ(id % kSamples, samples->id_at(at.first, at.second));
    EXPECT_EQ(id / kSamples % kPartners, order->id_at(draw / kPartners, draw % kPartners));
    EXPECT_EQ(id / (kSamples * kPartners), draw % 2 * 3) << "a selection: samples 0 and 3";
    ++draw;
  }
  EXPECT_EQ(draw, 6 * kSamples);
}

TEST(PartnerDraws, are_the_same_for_any_batch_and_any_ranks) {
  const auto expected = ids(1, 1, 4);
  for (const int64_t batch : {2, 3, 7, 10})
    for (const int64_t world : {1, 2, 3}) EXPECT_EQ(ids(batch, world, 4), expected) << batch << " " << world;
}

TEST(PartnerDraws, come_with_replacements_too) {
  const IndexedItinerary steps = itinerary(10);
  const Row row = steps.planned({})->rows[4];
  std::set<int64_t> others;
  for (int64_t attempt = 1; attempt <= steps.replacements(0); ++attempt) {
    const int64_t id = steps.replacement(row, attempt);
    others.insert(id % kSamples);
    const auto all = ids(10, 1, 1);
    EXPECT_TRUE(std::ranges::any_of(all, [&](const auto& one) { return one.second == id; }))
        << "it has the partners of its own place";
  }
  EXPECT_EQ(others.size(), static_cast<size_t>(kSamples - 1));
}

TEST(PartnerDraws, are_known_far_ahead) {
  const auto partners = shuffled_partners();
  const int64_t pass = int64_t{1} << 55, draw = pass * kSamples + 7;
  const int64_t partner = shuffled_order(kPartners, 5)->id_at(draw / kPartners, draw % kPartners);
  EXPECT_EQ(partners->joined(2, pass, 7), 2 + kSamples * partner + kSamples * kPartners * (draw % 2 * 3));
}

}  // namespace
}  // namespace forebay
