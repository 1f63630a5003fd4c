#include "loader/peers/open_peers.h"

#include <algorithm>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "loader/describe/step_arguments.h"
#include "loader/peers/entry_owner.h"
#include "loader/peers/open_job.h"
#include "loader/samples/plan_text.h"
#include "pipeline/op_spec.h"

namespace forebay {

namespace {

// Shortens a hash so that a message with two of them stays readable.
std::string short_hash(const Hash128& hash) { return hash.to_string().substr(0, 12); }

// Identifies the chosen samples of a branch: choices that depend on data that was read, and some
// ids.
std::string text_of_choice(const BranchData& branch) {
  constexpr int64_t kLookedAt = 1024;
  const OpSpec* const pack = find_step(branch.branch.description, OpEffect::kPacking);
  std::string text = branch.chosen.version + (pack == nullptr ? "" : pack->args.dump());
  const Selection& selection = *branch.chosen.selection;
  const int64_t size = selection.size(), looked_at = std::min(size, kLookedAt);
  for (int64_t i = 0; i < looked_at; ++i) text += fmt::format(" {}", selection.id_at(size / looked_at * i));
  return text;
}

std::string text_of_order(const BranchData& branch) {
  const OpSpec* const shuffle = find_step(branch.branch.description, OpEffect::kOrder);
  const Ordering& ordering = branch.ordering;
  if (shuffle == nullptr) return "none";
  if (!ordering.in_groups) return "given";
  return fmt::format("block {}, lanes {}{}", ordering.block, ordering.lanes,
                     bool_arg(*shuffle, "ramp") ? ", ramp" : "");
}

// The texts of all branches; those of several as one hash.
template <typename TextOf>
std::string text_of_all(const DataPlan& data, TextOf text_of) {
  if (data.branches.size() == 1) return text_of(data.branches.front());
  std::string all;
  for (const BranchData& branch : data.branches) all += text_of(branch) + "\n";
  return short_hash(hash128(all));
}

}  // namespace

Result<std::shared_ptr<PeerGroup>> open_peers(const PeerOptions& options, const RankInfo& rank_info,
                                              std::stop_token stop) {
  const auto peers = std::make_shared<PeerGroup>();
  // Joins the job without a cache too. A cache may change the shard assignment, and the check of
  // the run detects ranks that differ.
  FOREBAY_ASSIGN(std::shared_ptr<Job> job,
                 open_job(options, rank_info, {{std::string(kEntryServiceName), peers->service()}}, std::move(stop)));
  if (!job) return std::shared_ptr<PeerGroup>();
  peers->join_job(std::move(job));
  return peers;
}

void set_run_settings(Job& job, const Description& description, const Source& source, const DataPlan& data,
                      const std::string& assignment, uint64_t seed, int64_t world_size) {
  const OpSpec* const batch = find_step(description, OpEffect::kBatching);
  const std::string shares = plan_text(description);
  job.set_run({{{"seed", fmt::format("{}", seed)},
                {"batch size", fmt::format("{}", batch_size(description))},
                {"last", batch == nullptr ? "partial" : batch->args.value("last", "partial")},
                {"ranks", fmt::format("{}", world_size)},
                {"parts and draws", shares.empty() ? "none" : short_hash(hash128(shares)),
                 "the parts of a mix, their weights, and what .repeat(), .sample(), .balance() and .bucket() are given "
                 "decide which samples come when"},
                {"shuffle", text_of_all(data, text_of_order)},
                {"shard_by", assignment,
                 "shard_by='auto' follows the .cache() of each rank, in memory or on disk: give shard_by= and hosts= "
                 "where these "
                 "differ"},
                {"samples", fmt::format("{}", data.size())},
                {"data set", short_hash(source.version()),
                 "another job, or a loader that ranks open in another order, wants peers of its own"},
                {"choice of samples", text_of_all(data, [](const BranchData& branch) {
                   return short_hash(hash128(text_of_choice(branch)));
                 })}}});
}

std::shared_ptr<const ElementNumbers> number_elements(const DataPlan& data) {
  std::vector<int64_t> sizes;
  for (const BranchData& branch : data.branches) sizes.push_back(branch.source->size());
  return std::make_shared<const ElementNumbers>(sizes);
}

std::vector<OwnedElements> cached_elements(const ExecutionPlan& plan, const DataPlan& data) {
  std::vector<OwnedElements> all;
  for (size_t i = 0; i < data.branches.size(); ++i) {
    const BranchPlan& branch = *plan.branches()[i];
    const ChosenSamples& chosen = data.branches[i].chosen;
    OwnedElements& elements = all.emplace_back();
    // The order in which samples come in packed blocks is not that of the plan.
    if (!chosen.sequences) elements.selection = chosen.selection;
    if (branch.chunks && branch.chunks->cache) elements.chunks = branch.chunks->source;
  }
  return all;
}

void set_owners(PeerGroup& peers, std::vector<OwnedElements> elements, const DataPlan& data, const JobSteps& steps) {
  const Cursor& since = data.changes.since;
  OwnerOf owner = owner_in_plan({.plan = data.plan,
                                 .since = {since.epoch, since.position},
                                 .ranks = steps.assignment.first_ranks,
                                 .numbers = number_elements(data),
                                 .branches = std::move(elements)});
  owner(0);  // the first look-up may plan the whole epoch, and later ones must not wait for that
  peers.set_owner(std::move(owner));
}

}  // namespace forebay
