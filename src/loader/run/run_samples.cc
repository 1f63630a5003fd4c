#include "loader/run/run_samples.h"

#include <algorithm>
#include <utility>

namespace forebay {

RunSamples::ByBranch RunSamples::by_branch(std::span<const int64_t> ids) const {
  ByBranch all(branches_.size());
  for (const int64_t id : ids) all[branch_of(id)].push_back(id_in_branch(id));
  return all;
}

// Calls `call(branch, ids)` for each branch that has some of the samples.
template <typename Call>
void RunSamples::for_each(std::span<const int64_t> ids, Call call) const {
  const ByBranch all = by_branch(ids);
  for (size_t number = 0; number < all.size(); ++number)
    if (!all[number].empty()) call(*branches_[number], all[number]);
}

Result<std::vector<Rehearsal::Sample>> RunSamples::new_samples(const StepPlan& step) const {
  const std::vector<Drawn> all = drawn(step);
  std::vector<Rehearsal::Sample> samples(all.size());
  ByBranch indices(branches_.size()), ids(branches_.size());
  for (ByBranch* const each : {&indices, &ids}) each->front().reserve(all.size());
  for (const Drawn& one : all) {
    indices[one.branch].push_back(one.index);
    ids[one.branch].push_back(one.id);
  }
  ByBranch labels(branches_.size());
  for (size_t number = 0; number < labels.size(); ++number)
    if (!ids[number].empty()) {
      FOREBAY_ASSIGN(labels[number], branches_[number]->labels(indices[number], ids[number]));
    }
  std::vector<size_t> next(branches_.size());
  for (size_t i = 0; i < all.size(); ++i)
    samples[i] = {id_in_run(all[i].branch, all[i].id), labels[all[i].branch][next[all[i].branch]++]};
  return samples;
}

void RunSamples::assign(int64_t id, Row& row) const {
  row.branch = static_cast<uint16_t>(branch_of(id));
  row.id = id_in_branch(id);
}

Status RunSamples::retain(std::span<const Rehearsal::Sample> fresh, std::span<const int64_t> entered) {
  std::vector<int64_t> next(branches_.size());
  for (const Rehearsal::Sample& sample : fresh) {
    int64_t& end = next[branch_of(sample.id)];
    end = std::max(end, id_in_branch(sample.id) + 1);
  }
  const ByBranch all = by_branch(entered);
  for (size_t number = 0; number < all.size(); ++number)
    if (next[number] > 0) FOREBAY_RETURN_IF_ERROR(branches_[number]->retain(all[number], next[number]));
  return {};
}

void RunSamples::release(std::span<const int64_t> left) {
  for_each(left, [](ReplayBranch& branch, std::span<const int64_t> ids) { branch.release(ids); });
}

void RunSamples::start_fetch(std::span<const int64_t> ids) {
  for_each(ids, [](ReplayBranch& branch, std::span<const int64_t> own) { branch.start_fetch(own); });
}

void RunSamples::on_delivered(std::span<const int64_t> ids) {
  for_each(ids, [](ReplayBranch& branch, std::span<const int64_t> own) { branch.on_delivered(own); });
}

Result<bool> RunSamples::all_available(std::span<const int64_t> ids) const {
  Result<bool> all = true;
  for_each(ids, [&](const ReplayBranch& branch, std::span<const int64_t> own) {
    const Result<bool> available = branch.all_available(own);
    if (all.ok() && (!available.ok() || !*available)) all = available;
  });
  return all;
}

std::string RunSamples::awaited() const {
  for (const auto& branch : branches_)
    if (std::string awaited = branch->awaited(); !awaited.empty()) return awaited;
  return {};
}

std::optional<std::vector<PlacedRecord>> RunSamples::records(std::span<const int64_t> ids) const {
  std::optional<std::vector<PlacedRecord>> all;
  const ByBranch own = by_branch(ids);
  for (size_t number = 0; number < own.size(); ++number) {
    const auto records = branches_[number]->records(own[number]);
    if (!records) continue;
    if (!all) all.emplace();
    for (const auto& [id, place] : *records) all->push_back({id_in_run(number, id), place});
  }
  return all;
}

Result<Restore> RunSamples::find(std::span<const int64_t> ids, std::span<const PlacedRecord> records) const {
  const auto has_branch = [&](int64_t id) { return branch_of(id) < branches_.size(); };
  if (!std::ranges::all_of(ids, has_branch) || !std::ranges::all_of(records, has_branch, &PlacedRecord::number))
    return invalid_argument("\"rehearsal\" of this state keeps samples of parts that the pipeline does not have");
  const ByBranch own = by_branch(ids);
  std::vector<std::vector<PlacedRecord>> placed(branches_.size());
  for (const auto& [id, place] : records) placed[branch_of(id)].push_back({id_in_branch(id), place});
  std::vector<Restore> found;
  for (size_t number = 0; number < own.size(); ++number) {
    FOREBAY_ASSIGN(found.emplace_back(), branches_[number]->find(own[number], placed[number]));
  }
  return Restore([found = std::move(found)] {
    for (const Restore& restore : found) restore();
  });
}

Status RunSamples::check_before(std::span<const int64_t> ids) const {
  const ByBranch own = by_branch(ids);
  for (size_t number = 0; number < own.size(); ++number)
    FOREBAY_RETURN_IF_ERROR(branches_[number]->check_before(own[number]));
  return {};
}

}  // namespace forebay
