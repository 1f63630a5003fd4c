#include "study/few_samples.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <span>
#include <utility>

#include "base/chunk_source.h"
#include "base/part_search.h"
#include "loader/describe/check.h"
#include "loader/describe/sources.h"
#include "pipeline/catalog.h"
#include "pipeline/op_spec.h"

namespace forebay {

namespace {

constexpr int64_t kLookedAt = 100'000;  // most sizes that are read
constexpr int64_t kExchanged = 300;     // chunks that are considered as a replacement for another
constexpr size_t kExchanges = 10;
constexpr double kBalanced = 0.05, kMaxBeyond = 4;

// The first copy is the sample itself.
Hash128 identity_of_copy(const Hash128& identity, int64_t copy, const Copies& copies) {
  return copies.alike || copy == 0 ? identity : hash128(identity.to_string() + " " + std::to_string(copy));
}

class SubsetSamples final : public SampleSource {
 public:
  SubsetSamples(std::shared_ptr<const SampleSource> all, std::vector<int64_t> chosen, const Copies& copies)
      : all_(std::move(all)), chosen_(std::move(chosen)), copies_(copies) {}

  const Schema& schema() const override { return all_->schema(); }
  int64_t size() const override { return different() * copies_.count; }
  Hash128 version() const override { return all_->version(); }
  uint64_t index_bytes() const override { return all_->index_bytes() + chosen_.size() * sizeof(int64_t); }
  std::string key(int64_t id) const override { return all_->key(of(id)); }
  std::string lasting_key(int64_t id) const override { return all_->lasting_key(of(id)); }
  std::optional<Identity> identity(int64_t id) const override {
    std::optional<Identity> identity = all_->identity(of(id));
    if (identity) identity->hash = identity_of_copy(identity->hash, id / different(), copies_);
    return identity;
  }
  const std::string& steps_before() const override { return all_->steps_before(); }
  Fetch fetch(int64_t id) const override { return all_->fetch(of(id)); }
  Status load(int64_t id, Buffer fetched, Record& record) const override {
    return all_->load(of(id), std::move(fetched), record);
  }
  Status load_all(int64_t id, std::span<const Buffer> fetched, Record& record) const override {
    return all_->load_all(of(id), fetched, record);
  }
  std::shared_ptr<const SampleSource> with_fields(std::span<const std::string> names) const override {
    std::shared_ptr<const SampleSource> fewer = all_->with_fields(names);
    return fewer ? std::make_shared<const SubsetSamples>(std::move(fewer), chosen_, copies_) : nullptr;
  }
  bool gathers(size_t field) const override { return all_->gathers(field); }
  Status gather(size_t field, std::span<const int64_t> ids, uint8_t* out) const override {
    std::vector<int64_t> theirs(ids.begin(), ids.end());
    for (int64_t& id : theirs) id = of(id);
    return all_->gather(field, theirs, out);
  }
  Status check_intact() const override { return all_->check_intact(); }

 private:
  int64_t different() const { return static_cast<int64_t>(chosen_.size()); }
  int64_t of(int64_t id) const { return chosen_[static_cast<size_t>(id % different())]; }

  const std::shared_ptr<const SampleSource> all_;
  const std::vector<int64_t> chosen_;
  const Copies copies_;
};

class SubsetChunks final : public ChunkSource {
 public:
  SubsetChunks(std::shared_ptr<const ChunkSource> all, std::vector<int64_t> chosen, const Copies& copies)
      : all_(std::move(all)), chosen_(std::move(chosen)), copies_(copies) {
    for (int64_t chunk = 0; chunk < chunks(); ++chunk)
      begins_.push_back(begins_.back() + all_->chunk_begin(of(chunk) + 1) - all_->chunk_begin(of(chunk)));
  }

  const Schema& schema() const override { return all_->schema(); }
  int64_t size() const override { return begins_.back(); }
  Hash128 version() const override { return all_->version(); }
  uint64_t index_bytes() const override {
    return all_->index_bytes() + (chosen_.size() + begins_.size()) * sizeof(int64_t);
  }
  std::string key(int64_t id) const override {
    const size_t chunk =
        part_holding(std::span(begins_).first(begins_.size() - 1), id, [](int64_t begin) { return begin; });
    return all_->key(all_->chunk_begin(of(static_cast<int64_t>(chunk))) + id - begins_[chunk]);
  }
  const std::string& steps_before() const override { return all_->steps_before(); }
  int64_t chunks() const override { return static_cast<int64_t>(chosen_.size()) * copies_.count; }
  int64_t chunk_begin(int64_t chunk) const override { return begins_[static_cast<size_t>(chunk)]; }
  std::string chunk_name(int64_t chunk) const override { return all_->chunk_name(of(chunk)); }
  ChunkCost chunk_cost(int64_t chunk) const override { return all_->chunk_cost(of(chunk)); }
  ChunkFetch chunk_fetch(int64_t chunk) const override { return all_->chunk_fetch(of(chunk)); }
  Result<Columns> decode(int64_t chunk, std::vector<Buffer> fetched, WorkMemory& memory) const override {
    return all_->decode(of(chunk), std::move(fetched), memory);
  }
  std::optional<Hash128> chunk_identity(int64_t chunk) const override {
    const std::optional<Hash128> identity = all_->chunk_identity(of(chunk));
    if (!identity) return identity;
    return identity_of_copy(*identity, chunk / static_cast<int64_t>(chosen_.size()), copies_);
  }
  std::string time_name(size_t field) const override { return all_->time_name(field); }
  bool is_of_folder(size_t field) const override { return all_->is_of_folder(field); }
  bool is_mask(size_t field) const override { return all_->is_mask(field); }
  Result<std::shared_ptr<const ChunkSource>> with_fields(std::span<const std::string> names) const override {
    FOREBAY_ASSIGN(std::shared_ptr<const ChunkSource> fewer, all_->with_fields(names));
    return std::shared_ptr<const ChunkSource>(std::make_shared<SubsetChunks>(std::move(fewer), chosen_, copies_));
  }

 private:
  int64_t of(int64_t chunk) const { return chosen_[static_cast<size_t>(chunk) % chosen_.size()]; }

  const std::shared_ptr<const ChunkSource> all_;
  const std::vector<int64_t> chosen_;
  const Copies copies_;
  std::vector<int64_t> begins_{0};
};

// Returns evenly spaced ids.
std::vector<int64_t> spread(int64_t samples, int64_t all) {
  std::vector<int64_t> ids(static_cast<size_t>(std::min(samples, all)));
  for (size_t i = 0; i < ids.size(); ++i)
    ids[i] = static_cast<int64_t>(static_cast<__int128>(i) * all / static_cast<int64_t>(ids.size()));
  return ids;
}

// Divides the sizes, which ascend, into `count` parts of equal number, and takes one sample of each
// part: the one nearest to the mean of the part, corrected by the errors so far. So a few samples
// that are much larger than all others are neither missed nor over-represented.
std::vector<int64_t> one_of_each_size(int64_t count, std::span<const std::pair<double, int64_t>> sizes) {
  std::vector<int64_t> chosen;
  double lacking = 0;
  size_t begin = 0;
  for (int64_t part = 1; part <= count; ++part) {
    const auto end = static_cast<size_t>(static_cast<__int128>(sizes.size()) * part / count);
    const std::span<const std::pair<double, int64_t>> alike = sizes.subspan(begin, end - begin);
    lacking +=
        std::accumulate(alike.begin(), alike.end(), 0.0, [](double sum, const auto& one) { return sum + one.first; }) /
        static_cast<double>(alike.size());
    const auto nearest = std::min_element(alike.begin(), alike.end(), [lacking](const auto& a, const auto& b) {
      return std::abs(a.first - lacking) < std::abs(b.first - lacking);
    });
    lacking -= nearest->first;
    chosen.push_back(nearest->second);
    begin = end;
  }
  std::ranges::sort(chosen);
  return chosen;
}

// Chooses `count` of the ids below `all`, by their sizes.
template <typename SizeOf>
std::vector<int64_t> of_each_size(int64_t count, int64_t all, const SizeOf& size_of) {
  std::vector<std::pair<double, int64_t>> sizes;
  for (const int64_t id : spread(std::max(count, kLookedAt), all))
    sizes.emplace_back(static_cast<double>(size_of(id)), id);
  std::ranges::sort(sizes);
  return one_of_each_size(std::min(count, all), sizes);
}

std::vector<int64_t> samples_of_each_size(int64_t count, const Source& source) {
  return of_each_size(count, source.size(), [&](int64_t id) { return source.as_samples()->fetch(id).total_size(); });
}

/// Rows of some chunks, and the bytes of their columns.
struct ChunkSum {
  double rows = 0, bytes = 0;

  ChunkSum operator+(const ChunkSum& other) const { return {rows + other.rows, bytes + other.bytes}; }
  ChunkSum operator-(const ChunkSum& other) const { return {rows - other.rows, bytes - other.bytes}; }
  /// Relative difference of the bytes per row from those of another sum.
  double off(const ChunkSum& all) const {
    return all.bytes > 0 ? std::abs(bytes * all.rows / (rows * all.bytes) - 1) : 0;
  }
};

ChunkSum sum_of(const ChunkSource& source, int64_t chunk) {
  return {static_cast<double>(source.chunk_begin(chunk + 1) - source.chunk_begin(chunk)),
          static_cast<double>(source.chunk_cost(chunk).decoded_bytes)};
}

ChunkSum sum_of(const ChunkSource& source, std::span<const int64_t> chunks) {
  return std::accumulate(chunks.begin(), chunks.end(), ChunkSum(),
                         [&](const ChunkSum& sum, int64_t chunk) { return sum + sum_of(source, chunk); });
}

using SizedChunks = std::vector<std::pair<int64_t, ChunkSum>>;

SizedChunks sized(const ChunkSource& source, std::span<const int64_t> chunks) {
  SizedChunks all;
  for (const int64_t chunk : chunks) all.emplace_back(chunk, sum_of(source, chunk));
  return all;
}

// Adds another chunk, or exchanges one, until the chosen chunks have as many bytes per row as all
// chunks. Then the size of cached rows grows with their number as with their bytes. At least `rows`
// rows stay chosen.
void balance(std::vector<int64_t>& chosen, const ChunkSource& source, double rows, const ChunkSum& all) {
  SizedChunks parts = sized(source, chosen), others = sized(source, spread(kExchanged, source.chunks()));
  std::ranges::sort(chosen);
  std::erase_if(others, [&](const auto& other) { return std::ranges::binary_search(chosen, other.first); });
  ChunkSum now = sum_of(source, chosen);
  for (size_t turn = 0; turn < kExchanges && now.off(all) > kBalanced; ++turn) {
    ChunkSum best = now;
    std::pair<size_t, size_t> exchange{};
    for (size_t i = 0; i <= parts.size(); ++i) {
      const ChunkSum rest = i < parts.size() ? now - parts[i].second : now;
      for (size_t j = 0; j < others.size(); ++j) {
        const ChunkSum then = rest + others[j].second;
        const bool fits = then.rows >= rows && then.rows <= std::max(kMaxBeyond * rows, now.rows);
        if (!fits || then.off(all) >= best.off(all)) continue;
        best = then;
        exchange = {i, j};
      }
    }
    if (best.off(all) >= now.off(all)) break;
    if (exchange.first == parts.size()) parts.emplace_back();
    parts[exchange.first] = others[exchange.second];
    others.erase(others.begin() + static_cast<ptrdiff_t>(exchange.second));
    now = best;
  }
  chosen.clear();
  for (const auto& [chunk, sum] : parts) chosen.push_back(chunk);
  std::ranges::sort(chosen);
}

// Chooses whole chunks until they have that many rows, at least two of them, so that there is more
// than one part. If they are not balanced, it tries more chunks, and returns the most balanced
// choice.
std::vector<int64_t> chunks_of_each_size(int64_t rows, const ChunkSource& source) {
  const std::vector<int64_t> every = spread(source.chunks(), source.chunks());
  const ChunkSum all = sum_of(source, every);
  const auto wanted = static_cast<double>(rows);
  std::vector<int64_t> best;
  double off = 0;
  for (int64_t count = std::min<int64_t>(2, source.chunks()); count < source.chunks(); count = count * 3 / 2 + 1) {
    std::vector<int64_t> chunks =
        of_each_size(count, source.chunks(), [&](int64_t chunk) { return source.chunk_cost(chunk).fetched_bytes; });
    if (sum_of(source, chunks).rows < wanted) continue;
    balance(chunks, source, wanted, all);
    const ChunkSum have = sum_of(source, chunks);
    if (!best.empty() && have.rows > kMaxBeyond * wanted) return best;
    if (best.empty() || have.off(all) < off) {
      off = have.off(all);
      best = std::move(chunks);
    }
    if (off <= kBalanced) return best;
  }
  return best.empty() ? every : best;
}

}  // namespace

std::shared_ptr<const Source> subset_of(std::shared_ptr<const Source> source, std::vector<int64_t> chosen,
                                        const Copies& copies) {
  if (auto chunks = shared_as_chunks(source))
    return std::make_shared<SubsetChunks>(std::move(chunks), std::move(chosen), copies);
  return std::make_shared<SubsetSamples>(std::shared_ptr<const SampleSource>(source, source->as_samples()),
                                         std::move(chosen), copies);
}

std::shared_ptr<const Source> representative_subset(std::shared_ptr<const Source> source, int64_t samples,
                                                    const Copies& copies) {
  const auto* chunks = source->as_chunks();
  std::vector<int64_t> ids =
      chunks != nullptr ? chunks_of_each_size(samples, *chunks) : samples_of_each_size(samples, *source);
  return subset_of(std::move(source), std::move(ids), copies);
}

bool supports_subset(const OpSpec& source) {
  // The parts of a zip find their samples by the numbers that these have there.
  const auto needs_numbers = [&](const PipelinePart& part) {
    return is_source(part.pipeline.steps().front(), SourceKind::kUserCode) || catalog().chooses_by_itself(source, part);
  };
  if (source.opened == nullptr || is_source(source, SourceKind::kUserCode)) return false;
  if (std::ranges::any_of(source.parts, needs_numbers)) return false;
  const auto* chunks = source.opened->as_chunks();
  if (source.opened->size() == 0 || !source.opened->identity(0)) return false;
  return source.opened->learned_versions() == nullptr && (chunks == nullptr || chunks->kept_rows() == nullptr);
}

Description with_source(const Description& description, std::shared_ptr<const Source> source) {
  OpSpec first = description.steps().front();
  first.opened = std::move(source);
  Description changed(std::move(first));
  for (size_t i = 1; i < description.steps().size(); ++i) changed = changed.append(description.steps()[i]);
  return changed;
}

}  // namespace forebay
