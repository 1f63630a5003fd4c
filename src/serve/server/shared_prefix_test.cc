#include "serve/server/shared_prefix.h"

#include <gtest/gtest.h>

#include "base/byte_size.h"
#include "forebay/forebay.h"
#include "pipeline/op_spec.h"

namespace forebay {
namespace {

Description steps_of(const Pipeline& pipeline) { return pipeline.description(); }
Pipeline photographs(const std::string& root = "photos") { return images(root).shuffle().decode_image(); }

TEST(SharedPrefixes, steps_are_shared_up_to_the_first_that_differs_or_draws) {
  const Description a = steps_of(photographs().resize({64, 64}).random_crop({32}).batch(4));
  const Description b = steps_of(images("photos").decode_image().resize({64, 64}).random_flip().batch(8));
  EXPECT_EQ(shared_steps(a, b), 4U);  // counted in the first pipeline, its order included
  EXPECT_EQ(shared_steps(b, a), 3U);
  EXPECT_EQ(shared_steps(a, steps_of(photographs().resize({32, 32}).batch(4))), 3U);
  EXPECT_EQ(shared_steps(a, steps_of(photographs("others").resize({64, 64}).batch(4))), 0U);
  EXPECT_EQ(shared_steps(a, steps_of(images("photos").batch(4))), 0U);
}

TEST(SharedPrefixes, the_cache_stands_behind_them_and_is_the_only_one) {
  const Pipeline pipeline = photographs().resize({64, 64}).random_crop({32}).batch(4);
  const Description cached = with_cache_after(steps_of(pipeline), 4, kMiB);
  ASSERT_EQ(cached.steps().size(), steps_of(pipeline).steps().size() + 1);
  EXPECT_EQ(cached.steps()[4].name, "cache");
  EXPECT_TRUE(Pipeline(std::make_shared<const Description>(cached)).check().empty());
  EXPECT_EQ(with_cache_after(cached, 3, kMiB).steps().size(), cached.steps().size());
  EXPECT_EQ(with_cache_after(steps_of(pipeline), 4, 0).steps().size(), steps_of(pipeline).steps().size());
}

TEST(SharedPrefixes, ranks_of_one_job_have_nothing_in_common) {
  SharedPrefixes known;
  const Description steps = steps_of(photographs().resize({64, 64}).batch(4));
  const uint64_t a = known.add(steps, "job"), b = known.add(steps, "job");
  EXPECT_EQ(known.steps_of(a), 0U);
  const uint64_t c = known.add(steps, "another");
  EXPECT_EQ(known.steps_of(a), 4U);
  EXPECT_EQ(known.steps_of(c), 4U);
  known.remove(c);
  EXPECT_EQ(known.steps_of(b), 0U);
}

TEST(SharedPrefixes, all_caches_together_stay_within_their_bytes) {
  SharedPrefixes known;
  known.set_bytes(256 * kMiB);
  uint64_t sum = 0;
  for (int64_t size = 1; size < 20; ++size) sum += known.reserve_bytes(steps_of(photographs().resize({size, size})), 4);
  EXPECT_LE(sum, 256 * kMiB);
  EXPECT_EQ(known.reserve_bytes(steps_of(photographs().resize({1, 1})), 4), 128 * kMiB);
}

TEST(SharedPrefixes, what_one_had_is_there_for_the_next_when_it_has_gone) {
  SharedPrefixes known;
  known.set_bytes(256 * kMiB);
  const Description stays = steps_of(photographs().resize({1, 1})), goes = steps_of(photographs().resize({2, 2}));
  known.add(stays, "");
  EXPECT_EQ(known.reserve_bytes(stays, 4), 128 * kMiB);
  for (int time = 0; time < 20; ++time) {
    const uint64_t client = known.add(goes, ""), another = known.add(goes, "");
    EXPECT_EQ(known.reserve_bytes(goes, 4), 64 * kMiB) << time;
    known.remove(client);
    EXPECT_EQ(known.reserve_bytes(goes, 4), 64 * kMiB) << "another one reads the same";
    known.remove(another);
  }
  EXPECT_EQ(known.reserve_bytes(stays, 4), 128 * kMiB);
}

TEST(SharedPrefixes, steps_end_before_user_code_a_filter_a_cache_and_batches) {
  const auto length = [](const Pipeline& pipeline) { return shared_steps(steps_of(pipeline), steps_of(pipeline)); };
  const Pipeline resized = photographs().resize({8, 8});
  EXPECT_EQ(length(resized.batch(4)), 4U);
  EXPECT_EQ(length(resized.map([](Sample&) { return Status(); }).normalize({.mean = {0.5}, .std = {0.5}}).batch(4)),
            4U);
  EXPECT_EQ(length(resized.filter([](const Sample&) -> Result<bool> { return true; })
                       .normalize({.mean = {0.5}, .std = {0.5}})
                       .batch(4)),
            4U);
  EXPECT_EQ(length(resized.cache().normalize({.mean = {0.5}, .std = {0.5}}).batch(4)), 4U);
  EXPECT_EQ(length(images("photos").batch(4)), 0U) << "no step computes values";
}

TEST(SharedPrefixes, steps_with_other_arguments_differ) {
  const Description a = steps_of(photographs().resize({64, 64}).batch(4));
  EXPECT_EQ(shared_steps(a, steps_of(photographs().resize({64, 65}).batch(4))), 3U);
  EXPECT_EQ(shared_steps(a, steps_of(images("photos", {.split_by = "none"}).decode_image().resize({64, 64}).batch(4))),
            0U);
}

TEST(SharedPrefixes, parts_that_differ_or_draw_share_nothing) {
  const auto of = [](const Pipeline& web, const Pipeline& code, double weight = 1) {
    return steps_of(
        mix({{"web", web}, {"code", code}}, {.weights = {{"web", weight}, {"code", 1}}}).resize({8, 8}).batch(4));
  };
  const Description a = of(photographs("a"), photographs("b"));
  EXPECT_EQ(shared_steps(a, of(photographs("a"), photographs("b"))), 2U) << "behind both parts";
  EXPECT_EQ(shared_steps(a, of(photographs("a"), photographs("c"))), 0U);
  EXPECT_EQ(shared_steps(a, of(photographs("a"), photographs("b"), 2)), 0U);
  const Description drawing = of(photographs("a"), photographs("b").random_flip());
  EXPECT_EQ(shared_steps(drawing, drawing), 0U) << "a cache behind the parts would keep what one of them drew";
  SharedPrefixes known;
  known.set_bytes(256 * kMiB);
  EXPECT_EQ(known.reserve_bytes(a, 2), 128 * kMiB);
  EXPECT_EQ(known.reserve_bytes(of(photographs("a"), photographs("c")), 2), 64 * kMiB) << "other parts, other results";
}

TEST(SharedPrefixes, no_cache_is_added_after_no_step_or_the_last_one) {
  const Description steps = steps_of(photographs().resize({64, 64}).batch(4));
  EXPECT_EQ(with_cache_after(steps, 0, kMiB).steps().size(), steps.steps().size());
  EXPECT_EQ(with_cache_after(steps, steps.steps().size(), kMiB).steps().size(), steps.steps().size());
  EXPECT_EQ(with_cache_after(steps, 100, kMiB).steps().size(), steps.steps().size());
  EXPECT_EQ(with_cache_after(steps, 4, kMiB).steps()[4].args["ram"], kMiB);
}

TEST(SharedPrefixes, the_version_grows_with_every_client) {
  SharedPrefixes known;
  const Description steps = steps_of(photographs().batch(4));
  uint64_t version = known.version();
  for (int i = 0; i < 3; ++i) {
    const uint64_t client = known.add(steps, "");
    EXPECT_GT(known.version(), version);
    version = known.version();
    known.remove(client);
    EXPECT_EQ(known.version(), version) << "who has gone makes no cache better";
  }
}

TEST(SharedPrefixes, a_client_that_is_not_there_shares_nothing) {
  SharedPrefixes known;
  known.remove(7);
  EXPECT_EQ(known.steps_of(7), 0U);
  const Description steps = steps_of(photographs().batch(4));
  const uint64_t client = known.add(steps, "a");
  known.add(steps, "b");
  EXPECT_EQ(known.steps_of(client), 3U);
  known.remove(client);
  EXPECT_EQ(known.steps_of(client), 0U);
}

TEST(SharedPrefixes, the_longest_prefix_with_any_client_counts) {
  SharedPrefixes known;
  const uint64_t client =
      known.add(steps_of(photographs().resize({8, 8}).normalize({.mean = {0.5}, .std = {0.5}}).batch(4)), "a");
  known.add(steps_of(photographs().batch(4)), "b");
  EXPECT_EQ(known.steps_of(client), 3U);
  known.add(steps_of(photographs().resize({8, 8}).batch(2)), "c");
  EXPECT_EQ(known.steps_of(client), 4U);
  known.add(steps_of(photographs("others").resize({8, 8}).normalize({.mean = {0.5}, .std = {0.5}}).batch(4)), "d");
  EXPECT_EQ(known.steps_of(client), 4U);
}

TEST(SharedPrefixes, a_budget_that_would_be_too_small_is_none) {
  SharedPrefixes known;
  const Description steps = steps_of(photographs().batch(4));
  EXPECT_EQ(known.reserve_bytes(steps, 3), 0U) << "no budget was set";
  known.set_bytes(32 * kMiB - 1);
  EXPECT_EQ(known.reserve_bytes(steps, 3), 0U);
  known.set_bytes(32 * kMiB);
  EXPECT_EQ(known.reserve_bytes(steps, 3), 16 * kMiB);
  EXPECT_EQ(known.reserve_bytes(steps, 3), 16 * kMiB) << "the same cache keeps its budget";
}

}  // namespace
}  // namespace forebay
