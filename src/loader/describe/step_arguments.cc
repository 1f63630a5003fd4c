#include "loader/describe/step_arguments.h"

#include <algorithm>

#include "loader/describe/check.h"
#include "pipeline/catalog.h"
#include "pipeline/op_spec.h"

namespace forebay {

namespace {

LastPolicy last_policy(const OpSpec* batch) {
  if (batch == nullptr) return LastPolicy::kPartial;
  const Json last = batch->args.value("last", Json());
  if (last == "drop") return LastPolicy::kDrop;
  return last == "pad" ? LastPolicy::kPad : LastPolicy::kPartial;
}

}  // namespace

const OpSpec* find_step(const Description& description, OpEffect effect) {
  for (size_t i = 1; i < description.steps().size(); ++i) {
    if (catalog().has_effect(description.steps()[i], effect)) return &description.steps()[i];
  }
  return nullptr;
}

size_t sample_steps(const Description& description) {
  const auto works = [](const OpSpec& op) {
    const OpDef* const def = catalog().find(op.name);
    return def != nullptr && works_on_batches(def->effect);
  };
  const auto& steps = description.steps();
  return static_cast<size_t>(std::ranges::find_if(steps, works) - steps.begin());
}

namespace {

bool parts_pack(const Description& description) {
  return !description.steps().empty() &&
         std::ranges::any_of(description.steps().front().parts, [](const PipelinePart& part) {
           return find_step(part.pipeline, OpEffect::kPacking) != nullptr || parts_pack(part.pipeline);
         });
}

}  // namespace

size_t first_block_step(const Description& description) {
  if (parts_pack(description)) return 1;
  const OpSpec* const pack = find_step(description, OpEffect::kPacking);
  return pack != nullptr ? static_cast<size_t>(pack - description.steps().data()) + 1 : description.steps().size();
}

int64_t int_arg(const OpSpec* op, const char* name, int64_t otherwise) {
  if (op == nullptr) return otherwise;
  const Json value = op->args.value(name, Json());
  return value.is_number_integer() ? value.get<int64_t>() : otherwise;
}

bool bool_arg(const OpSpec& op, const char* name) {
  const Json value = op.args.value(name, Json());
  return value.is_boolean() && value.get<bool>();
}

int64_t batch_size(const Description& description) {
  return int_arg(find_step(description, OpEffect::kBatching), "n", 1);
}

int64_t replayed_rows(const Description& description) {
  return int_arg(find_step(description, OpEffect::kReplay), "n", 0);
}

ScheduleOptions schedule_of(const Description& description, int64_t samples, int64_t world_size) {
  return {.epoch_size = samples,
          .batch_size = batch_size(description),
          .world_size = world_size,
          .last = last_policy(find_step(description, OpEffect::kBatching))};
}

}  // namespace forebay
