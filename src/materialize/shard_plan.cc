#include "materialize/shard_plan.h"

#include <algorithm>
#include <cmath>

#include <nlohmann/json.hpp>

#include "codec/image.h"
#include "materialize/batch_rows.h"

namespace forebay {

namespace {

constexpr uint64_t kSmallFixed = 64, kSmallOnAverage = 256;  // bytes of values that go to the index

}  // namespace

void SeenSamples::add(const Batch& batch) {
  if (batch.size() == 0) return;  // a sample that on_error left out
  for (const BatchField& field : batch.fields) {
    auto found =
        std::find_if(seen_.begin(), seen_.end(), [&](const Seen& seen) { return seen.field.name == field.name; });
    const bool first = found == seen_.end();
    if (first) found = seen_.insert(seen_.end(), {field_of(field), 0});
    if (first && field.kind == BatchField::Kind::kDense) found->shape = field.values.shape;
    look_at(field, *found);
  }
  samples_ += batch.size();
}

void SeenSamples::look_at(const BatchField& field, Seen& seen) {
  if (seen.shape && !(*seen.shape == field.values.shape)) seen.shape.reset();
  const std::span<const uint8_t> value = field.row(0);
  seen.bytes += value.size();
  // A single value of another kind rules out a field of pictures.
  seen.pictures = seen.pictures && field.kind == BatchField::Kind::kBytes && looks_like_image(value);
}

uint64_t SeenSamples::bytes() const {
  uint64_t bytes = 0;
  for (const Seen& seen : seen_) bytes += seen.bytes;
  return bytes;
}

std::vector<StoredField> SeenSamples::fields(const Schema& inferred) const {
  std::vector<StoredField> fields;
  for (const Seen& seen : seen_) {
    StoredField stored{seen.field, false};
    Field& field = stored.field;
    const auto known = inferred.find(field.name);
    const bool of_user_code = !known || inferred[*known].kind == FieldKind::kAny;
    if (of_user_code && seen.shape)
      for (size_t i = 1; i < seen.shape->rank(); ++i) field.shape[i - 1] = (*seen.shape)[i];
    if (known) {
      const Field& said = inferred[*known];
      if (said.kind == field.kind && said.shape.rank() == field.shape.rank()) field.shape = said.shape;
      field.image = said.image;
      field.channels_first = said.channels_first;
      field.layout_chosen = said.layout_chosen;
      field.normalized = said.normalized;
      field.pad_value = said.pad_value;
      field.pad_length = said.pad_length;
    }
    field.image = field.image || seen.pictures;
    const uint64_t mean = samples_ > 0 ? seen.bytes / static_cast<uint64_t>(samples_) : 0;
    const bool list = field.kind == FieldKind::kTensor && field.shape.rank() == 1;
    if (field.string_list())
      stored.in_index = true;  // in a shard its strings lie end to end, which is no single value
    else if (field.fixed_shape())
      stored.in_index = mean <= kSmallFixed;
    else
      stored.in_index = (field.kind != FieldKind::kTensor || list) && mean <= kSmallOnAverage;
    fields.push_back(std::move(stored));
  }
  return fields;
}

std::string ShardPlan::to_json() const { return nlohmann::json({{"begins", begins}}).dump(); }

Result<ShardPlan> ShardPlan::from_json(const std::string& text, int64_t rows) {
  const auto json = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
  ShardPlan plan;
  try {
    plan.begins = json.at("begins").get<std::vector<int64_t>>();
  } catch (const nlohmann::json::exception&) {
    plan.begins.clear();
  }
  if (plan.begins.size() < 2 || plan.begins.front() != 0 || plan.begins.back() != rows ||
      !std::is_sorted(plan.begins.begin(), plan.begins.end()))
    return corrupt("what was begun here is damaged; remove the folder _unfinished in it, and run this again");
  return plan;
}

ShardPlan plan_shards(int64_t rows, const std::vector<int64_t>& places, double bytes_a_row,
                      std::optional<int64_t> shards, uint64_t bytes_a_shard) {
  const double wanted = shards ? std::ceil(static_cast<double>(rows) / static_cast<double>(*shards))
                               : static_cast<double>(bytes_a_shard) / std::max(bytes_a_row, 1.0);
  const auto each = static_cast<int64_t>(std::clamp(wanted, 1.0, static_cast<double>(std::max<int64_t>(rows, 1))));
  ShardPlan plan;
  if (places.empty() && shards) {
    // The requested number of shards, even if it does not divide the rows.
    const int64_t count = std::min(*shards, rows);
    for (int64_t shard = 1; shard <= count; ++shard)
      plan.begins.push_back(static_cast<int64_t>(static_cast<__int128>(shard) * rows / count));
    return plan;
  }
  if (places.empty()) {
    while (plan.begins.back() < rows) plan.begins.push_back(std::min(plan.begins.back() + each, rows));
    return plan;
  }
  for (size_t i = 1; i < places.size(); ++i)
    if (places[i] == rows || places[i] - plan.begins.back() >= each)
      if (places[i] > plan.begins.back()) plan.begins.push_back(places[i]);
  return plan;
}

}  // namespace forebay
