#include "loader/compile/packing_step.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/chunk_source.h"
#include "base/hash.h"
#include "loader/compile/ordering.h"
#include "loader/describe/check.h"
#include "ops/definition/args.h"
#include "ops/pack_arguments.h"
#include "pipeline/catalog.h"
#include "telemetry/log.h"

namespace forebay {

namespace {
Args args_of(const OpSpec& pack) { return {pack.args, catalog().find(pack.name)->args}; }
}  // namespace

namespace {

// A sequence has 32 bits for its length with what is appended. Rows that are left out stay empty.
Status append(std::vector<uint32_t>& lengths) {
  for (uint32_t& length : lengths) {
    if (length == UINT32_MAX) return unsupported("a row of 2^32 - 1 numbers is to be packed, and eos= adds one");
    length += length > 0 ? 1 : 0;
  }
  return {};
}

// The error of the first row above `most`, if there is one. `message`: what is wrong, from its figure
// and `most`.
template <class Message>
Status refuse_above(std::span<const uint32_t> figures, int64_t most, const Source& source, const Selection& selection,
                    Message message) {
  const auto found = std::ranges::find_if(figures, [most](uint32_t one) { return one > most; });
  if (found == figures.end()) return {};
  const int64_t id = selection.id_at(found - figures.begin());
  return invalid_argument(message(*found, most)).with_operator("pack").with_sample(id).with_key(source.key(id));
}

Status refuse_long(std::span<const uint32_t> lengths, int64_t length, const Source& source,
                   const Selection& selection) {
  return refuse_above(lengths, length, source, selection, [](uint32_t has, int64_t most) {
    return fmt::format(
        "it has {} elements, and a block has {}; give .pack() a longer length, or say what "
        "becomes of such rows: too_long=\"split\", \"right\", \"left\" or \"drop\"",
        has, most);
  });
}

// Applies the further budgets to single rows: too_long="drop" leaves out those above one.
Result<std::vector<BlockLimit>> limits_of(const PackArguments& arguments, MeasuredRows& rows, bool drops,
                                          const Source& source, const Selection& selection) {
  std::vector<BlockLimit> limits;
  for (const auto& [field, most] : arguments.limits()) {
    BlockLimit& limit = limits.emplace_back(BlockLimit{most, std::move(rows.costs[limits.size()])});
    for (size_t i = 0; i < limit.costs.size() && drops; ++i) {
      if (limit.costs[i] <= most) continue;
      rows.lengths[i] = limit.costs[i] = 0;
    }
    FOREBAY_RETURN_IF_ERROR(refuse_above(limit.costs, most, source, selection, [&](uint32_t has, int64_t allowed) {
      return fmt::format(
          "it has {} of '{}', and a block has {}; give limits={{\"{}\": n}} more, or leave such rows "
          "out with too_long=\"drop\"",
          has, field, allowed, field);
    }));
  }
  return limits;
}

void warn_of_dropped(const Packing& packing, int64_t above_limits) {
  const auto warn = [&](int64_t dropped, const std::string& what) {
    if (dropped == 0) return;
    log_warning(fmt::format("pack: {} of {} samples are {} and left out, by too_long=\"drop\"", dropped,
                            packing.lengths().size(), what));
  };
  warn(packing.long_sequences(), fmt::format("longer than {}", packing.length()));
  warn(above_limits, "above limits=");
}

int64_t count_empty(const std::vector<uint32_t>& lengths) { return std::ranges::count(lengths, 0u); }

}  // namespace

std::vector<std::string> packed_fields(const OpSpec& pack) {
  const Args args = args_of(pack);
  return PackArguments(args).fields();
}

std::vector<std::string> limited_fields(const OpSpec& pack) {
  const Args args = args_of(pack);
  std::vector<std::string> names;
  for (const auto& [name, most] : PackArguments(args).limits()) names.push_back(name);
  return names;
}

Result<std::shared_ptr<const Packing>> pack_rows(const OpSpec& pack, MeasuredRows rows, const Source& source,
                                                 const Selection& selection) {
  const Args args = args_of(pack);
  const PackArguments arguments(args);
  const PackingOptions options = arguments.packing();
  const bool drops = options.too_long == LongSequence::kDrop;
  if (arguments.appends()) FOREBAY_RETURN_IF_ERROR(append(rows.lengths));
  if (arguments.refuses_long()) FOREBAY_RETURN_IF_ERROR(refuse_long(rows.lengths, options.length, source, selection));
  const int64_t empty = count_empty(rows.lengths);
  FOREBAY_ASSIGN(const std::vector<BlockLimit> limits, limits_of(arguments, rows, drops, source, selection));
  const int64_t above_limits = count_empty(rows.lengths) - empty;
  const ChunkSource* const chunks = source.as_chunks();
  const std::vector<int64_t> groups = chunks != nullptr ? selected_rows(*chunks, selection) : std::vector<int64_t>();
  FOREBAY_ASSIGN(Packing packing, Packing::make(std::move(rows.lengths), groups, options, limits));
  if (drops) warn_of_dropped(packing, above_limits);
  return std::make_shared<const Packing>(std::move(packing));
}

PackingStep packing_of(const OpSpec& pack, std::shared_ptr<const Packing> blocks,
                       const std::vector<OutputField>& outputs) {
  const Args args = args_of(pack);
  const PackArguments arguments(args);
  PackingStep step{std::move(blocks), {}, arguments.appends(), arguments.segment_ends()};
  for (auto& [from, field] : arguments.block_fields()) {
    const auto output = std::ranges::find_if(outputs, [&](const OutputField& one) { return one.field.name == from; });
    step.fields.push_back(field);
    step.fields.back().output = static_cast<size_t>(output - outputs.begin());
    const bool counts = field.value != BlockValue::kElements;
    const Field& of = output->field;
    if (counts || of.kind == FieldKind::kTensor)
      step.fields.back().item_bytes = counts ? sizeof(int32_t) : dtype_size(of.dtype);
  }
  return step;
}

std::string version_of(const Packing& packing) {
  Hasher hasher;
  hasher.update_value(packing.length());
  hasher.update_value(packing.size());
  // The lengths and the options decide a packing; the pipeline's fingerprint covers the options.
  for (const uint32_t length : packing.lengths()) hasher.update_value(length);
  return hasher.digest().to_string();
}

}  // namespace forebay
