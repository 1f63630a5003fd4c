#include "loader/samples/stored_lengths.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/hash.h"
#include "loader/compile/cache_place.h"
#include "loader/compile/open_step_cache.h"
#include "loader/describe/check.h"
#include "pipeline/cache_rules.h"
#include "pipeline/catalog.h"
#include "pipeline/op_spec.h"

namespace forebay {

namespace {

// The first cache of the steps.
std::optional<size_t> cache_step(const std::vector<OpSpec>& steps) {
  const auto found =
      std::ranges::find_if(steps, [](const OpSpec& op) { return catalog().has_effect(op, OpEffect::kCaching); });
  return found == steps.end() ? std::nullopt : std::optional(static_cast<size_t>(found - steps.begin()));
}

// Identifies the content of all samples; nothing if a later run could not recognize one.
std::optional<Hash128> identity_of(const Source& source, const Selection& selection) {
  Hasher hasher;
  for (int64_t i = 0; i < selection.size(); ++i) {
    const std::optional<Identity> identity = source.identity(selection.id_at(i));
    if (!identity || !identity->lasting) return std::nullopt;
    hasher.update_value(identity->hash.high);
    hasher.update_value(identity->hash.low);
  }
  return hasher.digest();
}

std::shared_ptr<const Columns> columns_with(const std::vector<float>& lengths) {
  Field field;
  field.name = "length";
  field.dtype = DType::kFloat32;
  Columns columns{.schema = Schema({field}), .rows = std::ssize(lengths), .values = {}};
  Buffer values = Buffer::allocate(lengths.size() * sizeof(float));
  std::memcpy(values.data(), lengths.data(), values.size());
  columns.values.push_back({std::move(values), {}});
  return std::make_shared<const Columns>(std::move(columns));
}

}  // namespace

Result<StoredLengths> StoredLengths::open(const CompileInput& pass, const std::string& field,
                                          const SizingInput& sizes) {
  StoredLengths kept;
  const std::vector<OpSpec>& steps = pass.description->steps();
  const std::optional<size_t> step = cache_step(steps);
  const bool versioned = std::ranges::none_of(steps, [](const OpSpec& op) { return is_unversioned(op, catalog()); });
  if (!step || !versioned || pass.selection->size() == 0) return kept;
  const std::optional<Hash128> samples = identity_of(*pass.source, *pass.selection);
  if (!samples) return kept;
  Hasher hasher;
  hasher.update("lengths of " + field + " " + samples->to_string() + " ");
  hasher.update(prefix_identity(*pass.description, pass.end).to_string());
  const bool random = std::ranges::any_of(steps, [](const OpSpec& op) { return is_random_step(op, catalog()); });
  if (random) hasher.update_value(pass.seed);
  kept.key_ = hasher.digest();
  kept.samples_ = static_cast<size_t>(pass.selection->size());
  FOREBAY_ASSIGN(kept.cache_, open_step_cache({.description = *pass.description,
                                               .step = *step,
                                               .content_id = kept.key_,
                                               .min_entry_bytes = kept.samples_ * sizeof(float),
                                               .source = *pass.source,
                                               .selection = *pass.selection,
                                               .memory_limit = sizes.memory,
                                               .local_ranks = sizes.local_ranks}));
  return kept;
}

std::optional<std::vector<float>> StoredLengths::find() const {
  std::optional<Buffer> stored = cache_ ? cache_->stored(key_) : std::nullopt;
  if (!stored) return std::nullopt;
  const Result<std::shared_ptr<const Columns>> columns = cache_->open(key_, std::move(*stored));
  // A damaged entry is no error: the lengths are measured anew.
  if (!columns.ok() || (*columns)->rows != static_cast<int64_t>(samples_)) return std::nullopt;
  std::vector<float> lengths(samples_);
  std::memcpy(lengths.data(), (*columns)->values.front().values.data(), samples_ * sizeof(float));
  return lengths;
}

void StoredLengths::keep(const std::vector<float>& lengths, double seconds) const {
  if (cache_) cache_->put(key_, columns_with(lengths), seconds);
}

}  // namespace forebay
