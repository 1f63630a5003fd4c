#include "loader/step_arguments.h"

namespace forebay {

const OpSpec* find_step(const Description& description, std::string_view name) {
  for (const OpSpec& op : description.steps()) {
    if (op.name == name) return &op;
  }
  return nullptr;
}

int64_t int_arg(const OpSpec* op, const char* name, int64_t otherwise) {
  if (op == nullptr) return otherwise;
  const Json value = op->args.value(name, Json());
  return value.is_number_integer() ? value.get<int64_t>() : otherwise;
}

LastPolicy last_policy(const OpSpec* batch) {
  const Json last = batch ? batch->args.value("last", Json("partial")) : Json("partial");
  if (last == Json("drop")) return LastPolicy::kDrop;
  return last == Json("pad") ? LastPolicy::kPad : LastPolicy::kPartial;
}

}  // namespace forebay
