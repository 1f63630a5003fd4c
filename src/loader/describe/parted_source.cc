#include "loader/describe/parted_source.h"

#include <algorithm>

#include <fmt/format.h>

namespace forebay {

namespace {

bool equal_fields(const Schema& a, const Schema& b) {
  return a.open_ended == b.open_ended && std::ranges::equal(a, b, [](const Field& one, const Field& other) {
           return one.name == other.name && one.same_type(other);
         });
}

}  // namespace

PartedSource::PartedSource(std::vector<Part> parts) : begins_{0} {
  Hasher hasher;
  for (auto& [name, source] : parts) {
    // The length keeps the name apart from what follows it.
    hasher.update(fmt::format("{} {} {}\n", name.size(), name, source->version().to_string()));
    const PartedSource* const parted = as_parted(*source);
    if (parted == nullptr) {
      branches_.push_back(std::move(source));
    } else {
      branches_.insert(branches_.end(), parted->branches_.begin(), parted->branches_.end());
    }
  }
  version_ = hasher.digest();
  for (const auto& branch : branches_) begins_.push_back(begins_.back() + branch->size());
  const auto like_first = [&](const auto& branch) { return equal_fields(branch->schema(), branches_[0]->schema()); };
  if (!branches_.empty() && std::ranges::all_of(branches_, like_first)) {
    schema_ = branches_[0]->schema();
  } else {
    schema_.open_ended = true;
  }
}

std::shared_ptr<const PartedSource> PartedSource::with_branch(size_t branch,
                                                              std::shared_ptr<const Source> source) const {
  auto changed = std::make_shared<PartedSource>(*this);
  changed->branches_[branch] = std::move(source);
  for (size_t i = branch; i < branches_.size(); ++i)
    changed->begins_[i + 1] = changed->begins_[i] + changed->branches_[i]->size();
  return changed;
}

uint64_t PartedSource::index_bytes() const {
  uint64_t bytes = 0;
  for (const auto& branch : branches_) bytes += branch->index_bytes();
  return bytes;
}

std::string PartedSource::key(int64_t id) const {
  const auto [source, own] = find(id);
  return source->key(own);
}

std::optional<Identity> PartedSource::identity(int64_t id) const {
  const auto [source, own] = find(id);
  return source->identity(own);
}

Status PartedSource::check_intact() const {
  for (const auto& branch : branches_) FOREBAY_RETURN_IF_ERROR(branch->check_intact());
  return {};
}

std::pair<const Source*, int64_t> PartedSource::find(int64_t id) const {
  const auto after = std::upper_bound(begins_.begin(), begins_.end(), id);
  const auto branch = static_cast<size_t>(after - begins_.begin()) - 1;
  return {branches_[branch].get(), id - begins_[branch]};
}

const PartedSource* as_parted(const Source& source) { return dynamic_cast<const PartedSource*>(&source); }

}  // namespace forebay
