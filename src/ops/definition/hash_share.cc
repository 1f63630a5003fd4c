#include "ops/definition/hash_share.h"

#include <fmt/format.h>

#include "base/hash.h"
#include "base/whole_number.h"

namespace forebay {

namespace {

// The first 53 bits of xxh3-128, which every host and version computes alike.
double place_of(std::string_view salt, std::string_view value) {
  Hasher hasher;
  hasher.update(fmt::format("{}:", salt.size()));
  hasher.update(salt);
  hasher.update(value);
  return static_cast<double>(hasher.digest().high >> 11) * 0x1p-53;
}

}  // namespace

std::vector<ArgDef> HashShare::args() {
  return {{"begin", ArgType::kFloat, true, nullptr, "where the share begins, from 0 on"},
          {"end", ArgType::kFloat, true, nullptr, "where it ends, up to 1"},
          implied({"salt", ArgType::kText, false, "",
                   "another text chooses other samples; shares of one split have the same"})};
}

void HashShare::check(const Args& args, Problems& problems) {
  const double begin = args.number("begin"), end = args.number("end");
  if (!(begin >= 0 && begin < end && end <= 1))
    problems.add(fmt::format("the share goes from {} to {}", begin, end),
                 "give two numbers from 0 to 1, the smaller one first; fb.split computes them from shares");
}

HashShare::HashShare(const Args& args)
    : begin_(args.number("begin")), end_(args.number("end")), salt_(args.text("salt")) {}

bool HashShare::has(std::string_view value) const {
  const double place = place_of(salt_, value);
  return begin_ <= place && place < end_;
}

void check_groups(const std::string& name, const Schema& schema, Problems& problems) {
  const auto found = schema.find(name);
  if (!found && !schema.open_ended)
    problems.add(fmt::format("there is no field '{}'", name), fmt::format("the fields here are: {}", schema.names()));
  if (!found || schema[*found].kind == FieldKind::kAny) return;
  const Field& field = schema[*found];
  const bool number = field.kind == FieldKind::kTensor && field.shape.rank() == 0 && is_whole(field.dtype);
  if (!number && field.kind != FieldKind::kText && field.kind != FieldKind::kBytes)
    problems.add(fmt::format("the field {} is neither one whole number nor a text", field.to_string()),
                 "name another field, or make one with .map()");
}

}  // namespace forebay
