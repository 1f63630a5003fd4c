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

Status refuse_long(std::span<const uint32_t> lengths, int64_t length, const Source& source,
                   const Selection& selection) {
  const auto found = std::ranges::find_if(lengths, [length](uint32_t one) { return one > length; });
  if (found == lengths.end()) return {};
  const int64_t id = selection.id_at(found - lengths.begin());
  return invalid_argument(
             fmt::format("it has {} elements, and a block has {}; give .pack() a longer length, or say what "
                         "becomes of such rows: too_long=\"split\", \"right\", \"left\" or \"drop\"",
                         *found, length))
      .with_operator("pack")
      .with_sample(id)
      .with_key(source.key(id));
}

void warn_of_dropped(const Packing& packing) {
  const int64_t dropped = packing.long_sequences();
  if (dropped == 0) return;
  log_warning(fmt::format("pack: {} of {} samples are longer than {} and left out, by too_long=\"drop\"", dropped,
                          packing.lengths().size(), packing.length()));
}

}  // namespace

std::vector<std::string> packed_fields(const OpSpec& pack) {
  const Args args = args_of(pack);
  return PackArguments(args).fields();
}

Result<std::shared_ptr<const Packing>> pack_rows(const OpSpec& pack, std::vector<uint32_t> lengths,
                                                 const Source& source, const Selection& selection) {
  const Args args = args_of(pack);
  const PackArguments arguments(args);
  const PackingOptions options = arguments.packing();
  if (arguments.appends()) FOREBAY_RETURN_IF_ERROR(append(lengths));
  if (arguments.refuses_long()) FOREBAY_RETURN_IF_ERROR(refuse_long(lengths, options.length, source, selection));
  const ChunkSource* const chunks = source.as_chunks();
  const std::vector<int64_t> groups = chunks != nullptr ? selected_rows(*chunks, selection) : std::vector<int64_t>();
  FOREBAY_ASSIGN(Packing packing, Packing::make(std::move(lengths), groups, options));
  if (options.too_long == LongSequence::kDrop) warn_of_dropped(packing);
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
