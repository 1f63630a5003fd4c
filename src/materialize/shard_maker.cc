#include "materialize/shard_maker.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/chunk_source.h"
#include "format/materialized/chunk_hashes.h"
#include "format/materialized/sample_tar.h"
#include "format/materialized/shard_identities.h"
#include "materialize/batch_rows.h"
#include "materialize/stored_pictures.h"

namespace forebay {

namespace {

std::optional<Hash128> lasting(const std::optional<Identity>& identity) {
  return identity && identity->lasting ? std::optional(identity->hash) : std::nullopt;
}

bool in_tar(StoredFormat format) { return format == StoredFormat::kWds || format == StoredFormat::kJpeg; }

ShardIdentities identities_of_samples(const Source& source, int64_t first, int64_t end) {
  ShardIdentities identities;
  for (int64_t id = first; id < end; ++id) identities.push_back(lasting(source.identity(id)));
  return identities;
}

}  // namespace

ShardMaker::ShardMaker(From from, RowFeed& feed, std::function<void(int64_t)> advanced)
    : from_(from), feed_(feed), advanced_(std::move(advanced)) {
  if (from_.chunks.empty() || !from_.reuse.any_reused()) return;
  fresh_ = from_.reuse.fresh();
  for (const int64_t chunk : fresh_)
    fresh_rows_.push_back(fresh_rows_.back() + from_.chunks[static_cast<size_t>(chunk) + 1] -
                          from_.chunks[static_cast<size_t>(chunk)]);
}

Result<ShardFiles> ShardMaker::make(int64_t shard) {
  const int64_t first = from_.plan.begins[static_cast<size_t>(shard)];
  const int64_t end = from_.plan.begins[static_cast<size_t>(shard) + 1];
  return from_.chunks.empty() ? of_samples(first, end) : of_chunks(first, end);
}

Status ShardMaker::add_fresh(int64_t first, int64_t end, std::vector<Record>& samples) {
  FOREBAY_RETURN_IF_ERROR(feed_.seek(from_.reuse.fresh_index(first)));
  RowCopier copies(from_.manifest.fields, end - first, memory_);
  for (int64_t left = end - first; left > 0;) {
    FOREBAY_ASSIGN(const RowFeed::Rows rows, feed_.next(left));
    for (int64_t row = rows.begin; row < rows.end; ++row) {
      FOREBAY_ASSIGN(Record record, copies.copy(*rows.batch, row));
      samples.push_back(std::move(record));
    }
    left -= rows.end - rows.begin;
    advanced_(rows.end - rows.begin);
  }
  const std::span<Record> made = std::span(samples).last(static_cast<size_t>(end - first));
  return encode_pictures(from_.manifest, made, from_.threads,
                         [&](size_t i) { return from_.source.key(first + static_cast<int64_t>(i)); });
}

Result<ShardFiles> ShardMaker::of_samples(int64_t first, int64_t end) {
  std::vector<Record> samples;
  samples.reserve(static_cast<size_t>(end - first));
  for (int64_t id = first; id < end;) {
    if (const auto there = from_.reuse.reused(id)) {
      FOREBAY_ASSIGN(Record record, from_.finished->sample(*there));
      samples.push_back(std::move(record));
      advanced_(1);
      ++id;
      continue;
    }
    int64_t next = id + 1;
    while (next < end && !from_.reuse.reused(next)) ++next;
    FOREBAY_RETURN_IF_ERROR(add_fresh(id, next, samples));
    id = next;
  }
  const std::vector<StoredField>& fields = from_.manifest.fields;
  Result<ShardFiles> files = in_tar(from_.manifest.format)
                                 ? write_sample_tar(fields, first, samples, from_.manifest.format, from_.codecs)
                                 : write_sample_shard(fields, first, samples, from_.codecs, memory_);
  if (!files.ok()) return files;
  FOREBAY_ASSIGN(files->identities, write_identities(identities_of_samples(from_.source, first, end), from_.codecs));
  return files;
}

int64_t ShardMaker::fresh_row_of_chunk(int64_t chunk) const {
  if (!from_.reuse.any_reused()) return from_.chunks[static_cast<size_t>(chunk)];
  const auto at = std::lower_bound(fresh_.begin(), fresh_.end(), chunk);
  return fresh_rows_[static_cast<size_t>(at - fresh_.begin())];
}

Result<Columns> ShardMaker::fresh_chunk(int64_t chunk) {
  const int64_t first = from_.chunks[static_cast<size_t>(chunk)], end = from_.chunks[static_cast<size_t>(chunk) + 1];
  FOREBAY_RETURN_IF_ERROR(feed_.seek(fresh_row_of_chunk(chunk)));
  RowJoiner together(from_.manifest.fields);
  while (together.rows() < end - first) {
    FOREBAY_ASSIGN(const RowFeed::Rows rows, feed_.next(end - first - together.rows()));
    FOREBAY_RETURN_IF_ERROR(together.add(*rows.batch, rows.begin, rows.end));
    advanced_(rows.end - rows.begin);
  }
  return together.take(first);
}

Result<ShardFiles> ShardMaker::of_chunks(int64_t first, int64_t end) {
  const auto begin = std::lower_bound(from_.chunks.begin(), from_.chunks.end(), first);
  std::vector<Columns> batches;
  ShardIdentities identities;
  const auto& source = *from_.source.as_chunks();
  for (int64_t chunk = begin - from_.chunks.begin(); from_.chunks[static_cast<size_t>(chunk)] < end; ++chunk) {
    const int64_t at = from_.chunks[static_cast<size_t>(chunk)], next = from_.chunks[static_cast<size_t>(chunk) + 1];
    if (at == next) continue;  // chunks without rows are not written
    identities.push_back(source.chunk_identity(chunk));
    if (const auto there = from_.reuse.reused(chunk)) {
      FOREBAY_ASSIGN(Columns columns, from_.finished->chunk(*there));
      batches.push_back(with_ids(std::move(columns), from_.manifest.fields, at));
      advanced_(next - at);
    } else {
      FOREBAY_ASSIGN(Columns columns, fresh_chunk(chunk));
      batches.push_back(std::move(columns));
    }
  }
  ShardFiles files;
  if (from_.manifest.format == StoredFormat::kParquet) {
    FOREBAY_ASSIGN(files.data, from_.codecs.write_parquet_file(batches, from_.manifest.compression));
  } else {
    FOREBAY_ASSIGN(WrittenTable written, from_.codecs.write_arrow_file(batches, from_.manifest.compression, memory_));
    files.data = std::move(written.bytes);
  }
  FOREBAY_ASSIGN(files.index, write_chunk_hashes(from_.manifest.fields, batches, from_.codecs));
  FOREBAY_ASSIGN(files.identities, write_identities(identities, from_.codecs));
  return files;
}

}  // namespace forebay
