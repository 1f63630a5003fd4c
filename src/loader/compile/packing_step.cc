#include "loader/compile/packing_step.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/chunk_source.h"
#include "base/hash.h"
#include "loader/compile/ordering.h"
#include "loader/describe/check.h"
#include "loader/describe/step_arguments.h"
#include "ops/definition/args.h"
#include "ops/pack_arguments.h"
#include "pipeline/batch_rules.h"
#include "pipeline/catalog.h"
#include "plan/kept_lengths.h"
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
Status apply_limits(const PackArguments& arguments, SequenceSizes& rows, bool drops, const Source& source,
                    const Selection& selection) {
  auto costs = rows.costs.begin();
  for (const auto& [field, most] : arguments.limits()) {
    std::vector<uint32_t>& of = *costs++;
    for (size_t i = 0; i < of.size() && drops; ++i) {
      if (of[i] <= most) continue;
      rows.lengths[i] = of[i] = 0;
    }
    FOREBAY_RETURN_IF_ERROR(refuse_above(of, most, source, selection, [&](uint32_t has, int64_t allowed) {
      return fmt::format(
          "it has {} of '{}', and a block has {}; give limits={{\"{}\": n}} more, or leave such rows "
          "out with too_long=\"drop\"",
          has, field, allowed, field);
    }));
  }
  return {};
}

void warn_of_dropped(const std::vector<uint32_t>& lengths, int64_t block_length, int64_t above_limits) {
  const auto warn = [&](int64_t dropped, const std::string& what) {
    if (dropped == 0) return;
    log_warning(
        fmt::format("pack: {} of {} samples are {} and left out, by too_long=\"drop\"", dropped, lengths.size(), what));
  };
  warn(count_longer(lengths, block_length), fmt::format("longer than {}", block_length));
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

Result<SequenceSizes> packed_sizes(const OpSpec& pack, SequenceSizes measured, const Source& source,
                                   const Selection& selection) {
  const Args args = args_of(pack);
  const PackArguments arguments(args);
  const PackingOptions options = arguments.packing();
  const bool drops = options.too_long == LongSequence::kDrop && !arguments.refuses_long();
  SequenceSizes rows = std::move(measured);
  if (arguments.appends()) FOREBAY_RETURN_IF_ERROR(append(rows.lengths));
  if (arguments.refuses_long()) FOREBAY_RETURN_IF_ERROR(refuse_long(rows.lengths, options.length, source, selection));
  const int64_t empty = count_empty(rows.lengths);
  FOREBAY_RETURN_IF_ERROR(apply_limits(arguments, rows, drops, source, selection));
  if (drops) warn_of_dropped(rows.lengths, options.length, count_empty(rows.lengths) - empty);
  return rows;
}

Result<std::shared_ptr<const Packing>> pack_rows(const OpSpec& pack, SequenceSizes sizes, const Source& source,
                                                 const Selection& selection) {
  const Args args = args_of(pack);
  const PackArguments arguments(args);
  std::vector<BlockLimit> limits;
  for (const auto& [field, most] : arguments.limits()) limits.push_back({most, std::move(sizes.costs[limits.size()])});
  const ChunkSource* const chunks = source.as_chunks();
  const std::vector<int64_t> groups = chunks != nullptr ? selected_rows(*chunks, selection) : std::vector<int64_t>();
  FOREBAY_ASSIGN(Packing packing, Packing::make(std::move(sizes.lengths), groups, arguments.packing(), limits));
  return std::make_shared<const Packing>(std::move(packing));
}

PackedSequences sequences_of(const OpSpec& pack, const std::shared_ptr<const Packing>& packing) {
  const Args args = args_of(pack);
  const auto blocks = static_cast<double>(std::max<int64_t>(packing->size(), 1));
  return {.block_length = packing->length(),
          .lengths = packing->lengths(),
          .owner = packing,
          .pieces_per_block = static_cast<double>(packing->piece_count()) / blocks,
          .cut_left = PackArguments(args).packing().too_long == LongSequence::kLeft};
}

const OpSpec* shared_packing(const Description& branch) {
  const OpSpec* const pack = find_step(branch, OpEffect::kPacking);
  return pack != nullptr && packs_each_epoch(*pack) ? pack : nullptr;
}

PackedWindowsOptions window_options(const OpSpec& pack, int64_t mixed_rows) {
  constexpr int64_t kLeastWindow = 1024;  // blocks at the end of a window have more padding
  const Args args = args_of(pack);
  const PackArguments arguments(args);
  PackedWindowsOptions options{.packing = arguments.packing()};
  if (!pack.args.contains("window") && mixed_rows > 0)
    options.packing.window = std::min(options.packing.window, std::max(mixed_rows, kLeastWindow));
  for (const auto& [field, most] : arguments.limits()) options.limits.push_back(most);
  return options;
}

PackedSequences sequences_of(const OpSpec& pack, const std::shared_ptr<const SequenceSizes>& sizes) {
  const Args args = args_of(pack);
  const PackingOptions options = PackArguments(args).packing();
  const KeptLengths kept(sizes->lengths, options.length, options.too_long);
  double pieces = 0, elements = 0;
  for (size_t i = 0; i < kept.size(); ++i) {
    pieces += static_cast<double>((kept.count(i) + options.length - 1) / options.length);
    elements += static_cast<double>(kept.count(i));
  }
  // As if blocks were full, which no rule exceeds.
  const double blocks = std::max(1.0, elements / static_cast<double>(options.length));
  return {.block_length = options.length,
          .lengths = sizes->lengths,
          .owner = sizes,
          .pieces_per_block = std::max(1.0, pieces / blocks),
          .cut_left = options.too_long == LongSequence::kLeft,
          .shared = true};
}

PackingStep packing_of(const OpSpec& pack, PackedSequences sequences, const std::vector<OutputField>& outputs) {
  const Args args = args_of(pack);
  const PackArguments arguments(args);
  PackingStep step{std::move(sequences), {}, arguments.appends(), arguments.segment_ends()};
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

std::string version_of(std::span<const uint32_t> lengths) {
  Hasher hasher;
  for (const uint32_t length : lengths) hasher.update_value(length);
  return hasher.digest().to_string();
}

}  // namespace forebay
