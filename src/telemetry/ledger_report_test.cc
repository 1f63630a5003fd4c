#include <gtest/gtest.h>

#include <algorithm>

#include "forebay/ledger.h"

// Tests the text of the report.

namespace forebay {
namespace {

Ledger run_of(double elapsed, WaitStats waits) {
  Ledger ledger;
  ledger.elapsed_seconds = elapsed;
  ledger.waits = waits;
  ledger.consumer_wait_seconds = waits.plan + waits.arrival + waits.memory + waits.slot + waits.storage + waits.thread +
                                 waits.compute + waits.user + waits.assembly + waits.interpreter;
  ledger.samples = 1000;
  ledger.threads = 2;
  ledger.thread_time = {.rows = 0.6 * elapsed, .engine = 0.02 * elapsed, .idle = 1.38 * elapsed};
  ledger.thread_cpu = {.rows = 0.6 * elapsed};
  ledger.requests = 16;
  ledger.memory_budget = uint64_t{1} << 30;
  return ledger;
}

/// The same run; its threads were at work for `worked` seconds and had a core for `cpu` seconds.
Ledger with_cores(Ledger ledger, double worked, double cpu) {
  ledger.thread_time = {.rows = worked, .idle = ledger.elapsed_seconds * ledger.threads - worked};
  ledger.thread_cpu = {.rows = cpu};
  return ledger;
}

std::string line_of(const std::string& text, const std::string& begin) {
  const size_t at = text.find(begin);
  return at == std::string::npos ? "" : text.substr(at, text.find('\n', at) - at);
}

TEST(Report, a_share_of_which_a_part_was_sampled_says_how_far_off_it_may_be) {
  Ledger ledger = run_of(10, {.compute = 9});
  ledger.steps = {{.name = "decode", .busy_seconds = 6, .busy_uncertainty_seconds = 0.5},
                  {.name = "batch", .busy_seconds = 4, .busy_uncertainty_seconds = 0.04}};
  EXPECT_NE(report(ledger).find("decode 60 ± 5 %, batch 40 %"), std::string::npos) << report(ledger);
}

TEST(Report, the_interpreters_lock_is_told_with_the_way_out) {
  const std::string text = report(run_of(10, {.user = 1, .interpreter = 6}));
  EXPECT_NE(text.find(" 60 %  it was done; another thread had Python's lock"), std::string::npos) << text;
  EXPECT_NE(line_of(text, "To change:").find("workers=\"processes\""), std::string::npos) << text;
}

TEST(Report, says_that_nothing_was_asked_for) { EXPECT_EQ(report(Ledger()), "No batch was asked for yet.\n"); }

TEST(Report, has_nothing_to_change_where_the_consumer_hardly_waits) {
  const std::string text = report(run_of(10, {.storage = 0.2}));
  EXPECT_NE(text.find("took 2 % of the time.\n"), std::string::npos) << text;
  EXPECT_NE(line_of(text, "To change:").find("nothing here"), std::string::npos) << text;
}

TEST(Report, names_the_cause_with_its_remedy_and_what_it_may_gain) {
  const std::vector<std::pair<WaitStats, std::string>> cases = {
      {{.storage = 6}, ".cache()"},
      {{.slot = 6}, "requests= is 16"},
      {{.memory = 6}, "memory= is 1"},
      {{.user = 6}, "workers="},
      {{.thread = 2, .compute = 3, .assembly = 1}, "threads="},
      {{.storage = 2.5, .thread = 2, .compute = 2}, "threads="},  // larger together
  };
  for (const auto& [waits, remedy] : cases) {
    const std::string text = report(run_of(12, waits));
    EXPECT_NE(line_of(text, "To change:").find(remedy), std::string::npos) << text;
    EXPECT_LE(std::count(text.begin(), text.end(), '\n'), 10) << text;
  }
  EXPECT_NE(report(run_of(12, {.storage = 6})).find("at most 2.0 times as fast"), std::string::npos);
}

TEST(Report, tells_the_largest_parts_first_and_leaves_out_what_is_nothing) {
  const std::string text = report(run_of(10, {.slot = 0.05, .storage = 1, .compute = 4}));
  EXPECT_LT(text.find(" 40 %  a compute thread was at work on it"), text.find(" 10 %  its bytes were on their way"));
  EXPECT_EQ(text.find("request slot"), std::string::npos) << text;
}

TEST(Report, names_the_busiest_steps_and_a_store_that_asks_for_less) {
  Ledger ledger = run_of(10, {.storage = 6});
  for (const auto& [name, busy] :
       {std::pair("batch", 1.0), {"decode_image", 7.0}, {"normalize", 2.0}, {"flip", 0.001}}) {
    StepStats step;
    step.name = name;
    step.busy_seconds = busy;
    ledger.steps.push_back(step);
  }
  StoreStats store;
  store.name = "s3://bucket/";
  store.throttled = 12;
  ledger.stores.push_back(store);
  const std::string text = report(ledger);
  EXPECT_NE(
      text.find("(2) were at work 31 % of the time; CPU time by step: decode_image 70 %, normalize 20 %, batch 10 %\n"),
      std::string::npos)
      << text;
  ledger.thread_time = {.rows = 6, .engine = 4, .idle = 10};
  ledger.thread_cpu.engine = 4;
  EXPECT_NE(report(ledger).find("at work 50 % of the time; the engine's own work took 20 %; CPU"), std::string::npos);
  ledger.thread_cpu = {.rows = 3, .engine = 1};
  EXPECT_NE(report(ledger).find(" 20 %; 30 % of the time they waited there (for a core, a lock, a mapped file); CPU"),
            std::string::npos)
      << report(ledger);
  EXPECT_NE(line_of(text, "To change:").find("s3://bucket/ asked 12 times for fewer requests"), std::string::npos)
      << text;
}

TEST(Report, names_an_operator_behind_which_a_cache_may_stand) {
  Ledger ledger = with_cores(run_of(10, {.compute = 8}), 20, 20);
  ledger.steps = {{.name = "decode_image", .busy_seconds = 4}, {.name = "batch", .busy_seconds = 9}};
  EXPECT_NE(line_of(report(ledger), "To change:").find("most of it in decode_image"), std::string::npos);
  ledger.steps[0].busy_seconds = 0;
  EXPECT_NE(line_of(report(ledger), "To change:").find("most of it in the last step"), std::string::npos);
}

TEST(Report, does_not_ask_for_more_threads_where_those_there_are_have_no_core) {
  const Ledger ledger = run_of(10, {.compute = 8});
  const auto change = [&](double worked, double cpu) {
    return line_of(report(with_cores(ledger, worked, cpu)), "To change:");
  };
  EXPECT_NE(change(20, 15).find("raise threads="), std::string::npos) << change(20, 15);
  EXPECT_NE(change(20, 9).find("found no core"), std::string::npos) << change(20, 9);
  EXPECT_EQ(change(20, 9).find("raise threads="), std::string::npos);
}

CacheStats cache_with(double optimum) {
  CacheStats cache;
  cache.optimum = optimum;
  return cache;
}

TEST(Report, storage_behind_a_cache_is_a_matter_of_its_size) {
  Ledger ledger = run_of(10, {.storage = 6});
  ledger.caches = {cache_with(1), cache_with(0.4)};
  EXPECT_NE(line_of(report(ledger), "To change:").find("holds 40 % of what is asked for: give it more (ram=, disk=)"),
            std::string::npos)
      << report(ledger);
  ledger.caches = {cache_with(1)};
  EXPECT_NE(line_of(report(ledger), "To change:").find("the first epoch fills the cache"), std::string::npos);
}

TEST(Report, too_much_work_is_told_with_its_step_and_the_threads_there_are) {
  Ledger ledger = run_of(10, {.compute = 9.9});
  const auto to_change = [&] { return line_of(report(ledger), "To change:"); };
  EXPECT_NE(to_change().find("than 2 threads can do, most of it in the last step"), std::string::npos) << to_change();
  ledger.steps.push_back({.name = "decode_image", .busy_seconds = 3});
  ledger.threads = 1;
  EXPECT_NE(to_change().find("than 1 thread can do, most of it in decode_image"), std::string::npos) << to_change();
  EXPECT_EQ(report(ledger).find("Without that wait"), std::string::npos)
      << "where all of the time is waited, nothing says how fast it could be";
}

TEST(Report, a_run_that_has_just_begun_is_to_be_looked_at_again) {
  EXPECT_NE(line_of(report(run_of(1, {.plan = 0.9})), "To change:").find("look again after more batches"),
            std::string::npos);
}

TEST(Report, what_is_less_than_a_hundredth_has_no_line) {
  const std::string text = report(run_of(100, {.memory = 0.9, .storage = 30, .user = 1.1}));
  EXPECT_EQ(text.find("it waited for memory"), std::string::npos) << text;
  EXPECT_NE(text.find("  1 %  it was with your own function"), std::string::npos) << text;
}

}  // namespace
}  // namespace forebay
