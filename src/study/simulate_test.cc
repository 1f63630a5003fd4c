#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include <nlohmann/json.hpp>

#include "forebay/simulation.h"
#include "page/page.h"
#include "study/rate_text.h"
#include "study/report/pages.h"
#include "study/simulated_policy.h"
#include "study/virtual_cluster.h"

namespace forebay {
namespace {

// Storage that feeds one or two hosts, and memory for all samples over the hosts.
SimulationOptions sixteen_hosts() {
  SimulationOptions options{.hosts = 16, .ranks_per_host = 4};
  options.storage.bytes_per_second = 1e9;
  options.ram_bytes = 2'000'000'000;
  options.samples = 64 * 32 * 40;
  options.sample_bytes = 1e5;
  options.batch_size = 32;
  return options;
}

const SimulatedEpoch& later(const Simulation& found, const std::string& policy) {
  for (const SimulatedRun& run : found.runs)
    if (run.policy == policy) return run.steady();
  throw std::runtime_error("no such policy");
}

TEST(Simulate, the_first_epoch_reads_each_byte_once_and_takes_what_storage_takes) {
  const Simulation found = simulate(std::nullopt, sixteen_hosts()).value();
  const SimulatedEpoch& first = found.local().epochs.front();
  const double bytes = 64 * 32 * 40 * 1e5;
  EXPECT_NEAR(first.storage_bytes / bytes, 1, 0.02);
  EXPECT_EQ(first.peer_bytes, 0);
  EXPECT_NEAR(first.seconds, first.storage_bytes / 1e9, 0.05 * first.seconds);
  EXPECT_NEAR(later(found, "regular").seconds, bytes / 1e9, 0.05 * first.seconds);
}

TEST(Simulate, later_epochs_move_few_rows_and_ask_storage_for_none) {
  const Simulation found = simulate(std::nullopt, sixteen_hosts()).value();
  const double said = std::sqrt((1 - 1.0 / 16) / (2 * std::numbers::pi * 128));
  EXPECT_EQ(later(found, "local").storage_bytes, 0);
  EXPECT_NEAR(later(found, "local").moved / said, 1, 0.1);
  // Each host has memory beyond its own rows, and so copies of a sixteenth of all samples that came
  // from peers in the second epoch.
  EXPECT_NEAR(later(found, "count").moved, 15.0 / 16 * 15 / 16, 0.01);
  EXPECT_LE(later(found, "local").transfers, 63);
  EXPECT_GT(found.gain(), 10);
  EXPECT_LT(later(found, "local").seconds, later(found, "count").seconds);
}

TEST(Simulate, copies_of_what_came_from_peers_stay_where_there_is_room) {
  SimulationOptions options = sixteen_hosts();
  options.epochs = 5;
  for (const double room : {1.0, 2.0}) {  // free memory in sixteenths of all samples
    options.ram_bytes = static_cast<uint64_t>(room * 64 * 32 * 40 * 1e5 / 16);
    EXPECT_NEAR(later(simulate(std::nullopt, options).value(), "count").moved, (16 - room) / 16, 0.01) << room;
  }
}

TEST(Simulate, with_a_share_kept_storage_gives_the_rest) {
  SimulationOptions options = sixteen_hosts();
  options.ram_bytes = static_cast<uint64_t>(0.6 * 64 * 32 * 40 / 16 * 1e5);
  const Simulation found = simulate(std::nullopt, options).value();
  const double bytes = 64 * 32 * 40 * 1e5;
  EXPECT_NEAR(later(found, "local").storage_bytes / bytes, 0.4, 0.01);
  EXPECT_NEAR(found.model.kept, 0.6, 0.001);
  EXPECT_NEAR(found.local().steady().seconds / found.model.seconds(), 1, 0.1);
}

TEST(Simulate, trainers_that_are_the_limit_wait_for_nothing) {
  SimulationOptions options = sixteen_hosts();
  options.train_per_second = 10;
  const Simulation found = simulate(std::nullopt, options).value();
  EXPECT_NEAR(found.local().steady().seconds, 64.0 * 32 * 40 / (64 * 10), 0.5);
  EXPECT_LT(found.local().steady().wait_seconds, 0.5);
  EXPECT_NEAR(found.model.seconds(), 64.0 * 32 * 40 / (64 * 10), 1e-6);
}

TEST(Simulate, more_memory_is_what_helps_where_half_is_read_again) {
  SimulationOptions options = sixteen_hosts();
  options.ram_bytes /= 8;
  const Simulation found = simulate(std::nullopt, options).value();
  EXPECT_EQ(found.changes.front().change, "twice the memory a host");
  EXPECT_GT(found.changes.front().gain, 1.4);
  for (const SimulatedChange& change : found.changes) EXPECT_GT(change.gain, 0.9) << change.change;
}

TEST(Simulate, it_is_a_function_of_its_options) {
  SimulationOptions options = sixteen_hosts();
  EXPECT_EQ(to_json(simulate(std::nullopt, options).value()), to_json(simulate(std::nullopt, options).value()));
}

TEST(Simulate, a_part_of_many_rows_is_simulated_and_scaled) {
  SimulationOptions options = sixteen_hosts();
  const Simulation whole = simulate(std::nullopt, options).value();
  options.most_rows = 64 * 32 * 20;
  const Simulation half = simulate(std::nullopt, options).value();
  EXPECT_NEAR(half.share_gone_through, 0.5, 1e-9);
  EXPECT_NEAR(half.local().epochs.front().storage_bytes / whole.local().epochs.front().storage_bytes, 1, 0.02);
  EXPECT_NEAR(later(half, "regular").seconds / later(whole, "regular").seconds, 1, 0.02);
}

TEST(Simulate, impossible_options_are_refused_by_name) {
  const auto message = [](auto edit) {
    SimulationOptions options = sixteen_hosts();
    edit(options);
    const auto found = simulate(std::nullopt, options);
    EXPECT_EQ(found.status().code(), Code::kInvalidArgument);
    return found.ok() ? std::string() : found.status().to_string();
  };
  EXPECT_NE(message([](auto& o) { o.hosts = 0; }).find("hosts"), std::string::npos);
  EXPECT_NE(message([](auto& o) { o.ranks_per_host = 1 << 20; }).find("ranks_per_host"), std::string::npos);
  EXPECT_NE(message([](auto& o) { o.samples = 0; }).find("samples"), std::string::npos);
  EXPECT_NE(message([](auto& o) { o.sample_bytes = -1; }).find("sample_bytes"), std::string::npos);
  EXPECT_NE(message([](auto& o) { o.batch_size = std::nullopt; }).find("batch_size"), std::string::npos);
  EXPECT_NE(message([](auto& o) { o.epochs = 1; }).find("epochs"), std::string::npos);
  EXPECT_NE(message([](auto& o) { o.link_bytes_per_second = NAN; }).find("link"), std::string::npos);
}

TEST(Simulate, text_json_and_page_say_the_same) {
  const Simulation found = simulate(std::nullopt, sixteen_hosts()).value();
  const auto json = nlohmann::json::parse(to_json(found));
  EXPECT_EQ(json["runs"].size(), 4u);
  EXPECT_EQ(json["runs"][0]["policy"], "local");
  EXPECT_DOUBLE_EQ(json["gain"].get<double>(), found.gain());
  EXPECT_NE(to_text(found).find("What would change a later epoch"), std::string::npos);
  EXPECT_NE(to_html(simulation_page(found, "x.json")).find("clairvoyant"), std::string::npos);
}

TEST(Simulate, an_epoch_without_a_limit_has_no_gain_to_tell) {
  SimulationOptions options = sixteen_hosts();
  options.link_bytes_per_second = 0;
  const Simulation found = simulate(std::nullopt, options).value();
  ASSERT_EQ(found.local().steady().seconds, 0);
  EXPECT_NE(to_text(found).find("no wait at all"), std::string::npos);
  EXPECT_NE(simulation_page(found, "x.json").finding.find("waits for nothing"), std::string::npos);
}

TEST(Simulate, a_stream_has_no_epochs) {
  SimulationOptions options{.hosts = 4};
  const auto pipeline = stream("redis://host/0/clicks").batch(4);
  EXPECT_NE(simulate(pipeline, options).status().message().find("a stream has no epochs"), std::string::npos);
  options.samples = 1000, options.sample_bytes = 1e5;
  EXPECT_TRUE(simulate(pipeline, options).ok());
}

TEST(VirtualCluster, storage_below_its_knee_gives_a_part_and_requests_wait_for_answers) {
  SimulationOptions options{.hosts = 1};
  options.storage = {.bytes_per_second = 100, .knee = 128};
  options.link_bytes_per_second = 0;
  options.requests = 64;
  VirtualCluster below(options);
  for (int i = 0; i < 64; ++i) below.from_storage(0, 1);
  below.take_step(64);
  EXPECT_NEAR(below.finish_epoch().seconds, 64 / 50.0, 1e-9);
  options.storage = {.bytes_per_second = 0, .latency_seconds = 0.1};
  VirtualCluster far(options);
  for (int i = 0; i < 640; ++i) far.from_storage(0, 1);
  far.take_step(640);
  EXPECT_NEAR(far.finish_epoch().seconds, 1.0 + 0.1, 1e-9);
}

TEST(VirtualCluster, a_row_from_a_peer_waits_for_the_slower_end) {
  SimulationOptions options{.hosts = 3};
  options.link_bytes_per_second = 10;
  VirtualCluster cluster(options);
  cluster.from_peer(0, 1, 10);
  cluster.from_peer(0, 2, 10);
  cluster.take_step(1);
  const SimulatedEpoch epoch = cluster.finish_epoch();
  EXPECT_DOUBLE_EQ(epoch.seconds, 2);
  EXPECT_DOUBLE_EQ(epoch.wait_seconds, 2);
  EXPECT_DOUBLE_EQ(epoch.peer_bytes, 20);
  EXPECT_DOUBLE_EQ(epoch.moved, 1);
}

TEST(SimulatedPolicy, a_clairvoyant_host_has_more_hits_than_chance) {
  EXPECT_DOUBLE_EQ(clairvoyant_hits(1, 4, 90), 1);
  EXPECT_GT(clairvoyant_hits(0.25, 4, 90), 0.25);
  EXPECT_LT(clairvoyant_hits(0.25, 4, 90), 0.5);
  EXPECT_GT(clairvoyant_hits(1.0 / 256, 256, 90), 0.01);
}

TEST(SimulatedPolicy, drawn_sizes_have_the_requested_mean) {
  const DrawnSizes sizes(1000, 0.8, 3);
  double sum = 0;
  for (int64_t id = 0; id < 100'000; ++id) sum += sizes.of(id);
  EXPECT_NEAR(sum / 100'000, 1000, 20);
  EXPECT_EQ(DrawnSizes(1000, 0, 3).of(17), 1000);
}

TEST(Rate, bits_bytes_and_bare_numbers) {
  EXPECT_DOUBLE_EQ(*parse_rate("10Gbit/s"), 1.25e9);
  EXPECT_DOUBLE_EQ(*parse_rate("500 Mbit/s"), 62.5e6);
  EXPECT_DOUBLE_EQ(*parse_rate("2GB/s"), 2e9);
  EXPECT_DOUBLE_EQ(*parse_rate("1e9"), 1e9);
  for (const char* bad : {"", "fast", "Gbit/s", "-1", "nan", "1Gbit/m"}) EXPECT_FALSE(parse_rate(bad)) << bad;
}

}  // namespace
}  // namespace forebay
