#include "pipeline/foreign_calls.h"

#include <algorithm>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "pipeline/part_fields.h"

namespace forebay {

namespace {

Extras::iterator find_extra(Extras& extras, const std::string& name) {
  return std::find_if(extras.begin(), extras.end(), [&](const auto& extra) { return extra.first == name; });
}

std::optional<Value> take_extra(Extras& extras, const std::string& name) {
  const auto found = find_extra(extras, name);
  if (name.empty() || found == extras.end()) return std::nullopt;
  std::optional<Value> value = std::move(found->second);
  extras.erase(found);
  return value;
}

std::optional<Value> take_substitute(const ForeignStage& stage, Extras& extras, const std::string& name) {
  for (const auto& [missing, other] : stage.substitutes) {
    if (missing == name) return take_extra(extras, other);
  }
  return std::nullopt;
}

// The field of the record that field `i` of the schema after the function is, if the answer lacks it.
std::optional<size_t> passing_field(const ForeignStage& stage, size_t i, size_t before) {
  if (!stage.passing.empty()) return stage.passing[i];
  return stage.merge && i < before ? std::optional(i) : std::nullopt;
}

}  // namespace

void ForeignCalls::put(uint64_t order, std::shared_ptr<ForeignCall> call) {
  {
    const Lock lock(mutex_);
    // The destructor of a call without an answer takes the run's lock, which the caller of put()
    // holds.
    if (closed_) return call->abandon();
    calls_[order] = std::move(call);
  }
  changed_.notify_one();
}

std::shared_ptr<ForeignCall> ForeignCalls::take(std::chrono::milliseconds timeout) {
  Lock lock(mutex_);
  changed_.wait_for(lock, timeout, [&]() FOREBAY_REQUIRES(mutex_) { return closed_ || !calls_.empty(); });
  if (closed_ || calls_.empty()) return nullptr;
  std::shared_ptr<ForeignCall> call = std::move(calls_.begin()->second);
  calls_.erase(calls_.begin());
  return call;
}

void ForeignCalls::abandon(uint64_t order) {
  const Lock lock(mutex_);
  const auto found = calls_.find(order);
  if (found == calls_.end()) return;
  // Abandoned, since the destructor of a call without an answer takes the run's lock, which the
  // caller may hold.
  found->second->abandon();
  calls_.erase(found);
}

void ForeignCalls::abandon_all() {
  const Lock lock(mutex_);
  for (const auto& [order, call] : calls_) call->abandon();
  calls_.clear();
}

void ForeignCalls::close() {
  {
    const Lock lock(mutex_);
    closed_ = true;
  }
  changed_.notify_all();
}

ForeignInput foreign_input(const ForeignStage& stage, RowInput& row) {
  ForeignInput input{stage.input_schema, {}};
  for (size_t field : stage.inputs) {
    const Value& value = row.record[field];
    input.record.push_back({value.kind, value.tensor, value.bytes, nullptr});
  }
  if (stage.drops_extras) row.extras.clear();
  if (!stage.takes_all) return input;
  for (const auto& [name, value] : row.extras) {
    const std::optional<std::string> own = name_in_part(stage.part, name);
    if (!own) continue;
    Field field;
    field.name = *own;
    field.kind = value.kind;
    input.schema.push_back(std::move(field));
    input.record.push_back({value.kind, value.tensor, value.bytes, nullptr});
  }
  return input;
}

Status accept_answer(const ForeignStage& stage, const Schema& schema, Record answer, RowInput& row) {
  if (!stage.merge) row.extras.clear();
  for (size_t i = 0; i < answer.size(); ++i) {
    std::string name = name_in_zip(stage.part, schema[i].name);
    std::erase_if(row.extras, [&](const auto& extra) { return extra.first == name; });
    row.extras.emplace_back(std::move(name), std::move(answer[i]));
  }
  Record record;
  for (size_t i = 0; i < stage.output_schema.size(); ++i) {
    const Field& field = stage.output_schema[i];
    if (std::optional<Value> made = take_extra(row.extras, field.name)) {
      record.push_back(std::move(*made));
    } else if (const std::optional<size_t> before = passing_field(stage, i, row.record.size())) {
      record.push_back(std::move(row.record[*before]));
    } else if (std::optional<Value> other = take_substitute(stage, row.extras, field.name)) {
      record.push_back(std::move(*other));
    } else if (field.optional) {
      record.emplace_back();
    } else {
      return Status(Code::kUnsupported,
                    fmt::format("a later step needs the field '{}', but the function gave only: {}",
                                name_in_part(stage.part, field.name).value_or(field.name), schema.names()));
    }
  }
  // Checked here, since it is known only now which extra fields the function returns.
  for (const auto& [name, maker] : stage.later_names) {
    if (find_extra(row.extras, name) == row.extras.end()) continue;
    return invalid_argument(fmt::format(
        "there would be two fields '{}': the function gives one, and .{} makes another; give one of them another name",
        name, maker));
  }
  // Sorted, so that the batch's fields do not follow the order of the function's answer.
  std::sort(row.extras.begin(), row.extras.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  row.record = std::move(record);
  return {};
}

}  // namespace forebay
