// The bare loop over Arrow C++: row groups are decoded eight at a time on a thread or two, from mapped files into recycled
// memory, and the block's rows are then copied once, in a random order and column by column, into batch memory. No engine, no
// queues, no budgets. --gather-only keeps all groups decoded, and repeats the copying alone. bench/tables/README.md has the
// options and what is printed.
#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <map>
#include <numeric>
#include <random>
#include <sstream>
#include <thread>

#include <arrow/io/file.h>
#include <arrow/util/config.h>
#include <fmt/format.h>
#include <parquet/arrow/reader.h>
#include <parquet/file_reader.h>
#include <nlohmann/json.hpp>

#include "recycling_pool.h"
#include "table_gather.h"

namespace {

using namespace forebay::bench;
using Json = nlohmann::ordered_json;

struct Options {
  std::string folder, key;
  std::vector<std::string> columns;
  int64_t threads = 2, block = 8, epochs = 3;
  uint64_t seed = 7;
  bool gather = true, gather_only = false, checksum = false;
};

[[noreturn]] void fail(const std::string& message) {
  fmt::print(stderr, "bench_tables_limit: {}\n", message);
  std::exit(1);
}

template <typename T>
T take(arrow::Result<T> result) {
  if (!result.ok()) fail(result.status().ToString());
  return std::move(result).ValueOrDie();
}

double now_s() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

double process_cpu_s() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
         static_cast<double>(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1e-6;
}

/// Calls work(thread, i) for every i below `count`; whoever is free takes the next.
void in_parallel(int64_t threads, size_t count, const std::function<void(size_t, size_t)>& work) {
  std::atomic<size_t> next{0};
  const auto loop = [&](size_t thread) {
    for (size_t i = next++; i < count; i = next++) work(thread, i);
  };
  std::vector<std::jthread> others;
  for (int64_t t = 1; t < threads; ++t) others.emplace_back(loop, static_cast<size_t>(t));
  loop(0);
}

/// The row groups of all files of a folder. Each thread has readers of its own over the shared footers.
class Files {
 public:
  Files(const Options& options, arrow::MemoryPool* pool) : options_(options), pool_(pool) {
    for (const auto& entry : std::filesystem::directory_iterator(options.folder)) {
      if (entry.path().extension() == ".parquet") paths_.push_back(entry.path().string());
    }
    if (paths_.empty()) fail(options.folder + ": no .parquet files");
    std::ranges::sort(paths_);
    readers_.resize(static_cast<size_t>(options.threads));
    for (auto& mine : readers_) mine.resize(paths_.size());
    for (size_t file = 0; file < paths_.size(); ++file) {
      mapped_.push_back(take(arrow::io::MemoryMappedFile::Open(paths_[file], arrow::io::FileMode::READ)));
      metadata_.push_back(parquet::ReadMetaData(mapped_.back()));
      for (int g = 0; g < metadata_.back()->num_row_groups(); ++g) groups_.push_back({file, g});
    }
    for (const std::string& name : options.columns) leaves_.push_back(leaf(name));
  }

  size_t size() const { return groups_.size(); }

  /// All wanted columns of a row group.
  std::shared_ptr<arrow::Table> decode(size_t thread, size_t group) {
    const auto [file, number] = groups_[group];
    std::unique_ptr<parquet::arrow::FileReader>& reader = readers_[thread][file];
    if (!reader) reader = open(file);
    return take(reader->ReadRowGroup(number, leaves_));
  }

 private:
  std::unique_ptr<parquet::arrow::FileReader> open(size_t file) {
    parquet::ArrowReaderProperties properties(/*use_threads=*/false);
    properties.set_pre_buffer(false);
    return take(parquet::arrow::FileReader::Make(
        pool_, parquet::ParquetFileReader::Open(mapped_[file], parquet::ReaderProperties(pool_), metadata_[file]),
        properties));
  }

  int leaf(const std::string& name) const {
    const parquet::SchemaDescriptor& schema = *metadata_[0]->schema();
    for (int i = 0; i < schema.num_columns(); ++i) {
      if (schema.GetColumnRoot(i)->name() == name) return i;
    }
    fail("no column " + name + " in " + paths_[0]);
  }

  const Options& options_;
  arrow::MemoryPool* const pool_;
  std::vector<std::string> paths_;
  std::vector<std::shared_ptr<arrow::io::MemoryMappedFile>> mapped_;
  std::vector<std::shared_ptr<parquet::FileMetaData>> metadata_;
  std::vector<std::pair<size_t, int>> groups_;
  std::vector<int> leaves_;
  std::vector<std::vector<std::unique_ptr<parquet::arrow::FileReader>>> readers_;
};

/// Row groups that are mixed together, column by column.
struct Block {
  std::vector<std::shared_ptr<arrow::Table>> tables;
  std::vector<std::vector<Decoded>> columns;  // [column][group]
  const std::vector<Place>* places = nullptr;
  std::vector<Gathered> out;
};

class Loop {
 public:
  explicit Loop(const Options& options) : options_(options), files_(options, &pool_), random_(options.seed) {
    if (options.gather_only) keep_all();
  }

  /// One epoch; the sums are of what was gathered, where they are asked for.
  int64_t epoch(std::vector<uint64_t>* sums = nullptr) {
    std::vector<size_t> order(files_.size());
    std::iota(order.begin(), order.end(), size_t{0});
    std::ranges::shuffle(order, random_);
    int64_t rows = 0;
    for (size_t begin = 0; begin < order.size(); begin += static_cast<size_t>(options_.block)) {
      const size_t end = std::min(order.size(), begin + static_cast<size_t>(options_.block));
      Block block = decoded({order.begin() + static_cast<int64_t>(begin), order.begin() + static_cast<int64_t>(end)});
      if (options_.checksum) check(block);
      if (options_.gather) gather_all(block);
      if (sums != nullptr && options_.gather) add_sums(block, *sums);
      for (const auto& table : block.tables) rows += table->num_rows();
    }
    return rows;
  }

  uint64_t seen() const { return seen_; }

 private:
  void keep_all() {
    kept_.resize(files_.size());
    in_parallel(options_.threads, kept_.size(), [&](size_t thread, size_t i) { kept_[i] = files_.decode(thread, i); });
  }

  Block decoded(const std::vector<size_t>& groups) {
    Block block;
    block.tables.resize(groups.size());
    in_parallel(options_.threads, options_.gather_only ? 0 : groups.size(),
                [&](size_t thread, size_t i) { block.tables[i] = files_.decode(thread, groups[i]); });
    for (size_t i = 0; i < groups.size() && options_.gather_only; ++i) block.tables[i] = kept_[groups[i]];
    block.columns.resize(options_.columns.size());
    for (size_t c = 0; c < block.columns.size(); ++c) {
      for (const auto& table : block.tables)
        block.columns[c].push_back(take_apart(*table->GetColumnByName(options_.columns[c]), options_.columns[c]));
    }
    return block;
  }

  void check(const Block& block) {
    in_parallel(options_.threads, block.columns.size(), [&](size_t, size_t c) {
      for (const Decoded& group : block.columns[c]) seen_ ^= checksum(group);
    });
  }

  void gather_all(Block& block) {
    block.places = places_of(block);
    block.out.resize(block.columns.size());
    in_parallel(options_.threads, block.columns.size(),
                [&](size_t, size_t c) { block.out[c] = gather(block.columns[c], *block.places, &pool_); });
  }

  /// Drawn once for blocks of the same sizes: what is measured is the copying.
  const std::vector<Place>* places_of(const Block& block) {
    std::vector<int64_t> sizes;
    for (const auto& table : block.tables) sizes.push_back(table->num_rows());
    std::vector<Place>& places = places_[sizes];
    if (!places.empty()) return &places;
    for (uint32_t g = 0; g < sizes.size(); ++g) {
      for (uint32_t row = 0; row < sizes[g]; ++row) places.push_back({g, row});
    }
    std::ranges::shuffle(places, random_);
    return &places;
  }

  void add_sums(const Block& block, std::vector<uint64_t>& sums) const {
    const auto key = static_cast<size_t>(std::ranges::find(options_.columns, options_.key) - options_.columns.begin());
    if (key == options_.columns.size()) fail("the key column must be among --columns");
    for (size_t c = 0; c < block.out.size(); ++c) {
      sums[c] += weighted_sum(block.out[c], block.out[key].values->data_as<uint64_t>(), block.places->size());
    }
  }

  const Options& options_;
  RecyclingPool pool_;
  Files files_;
  std::mt19937_64 random_;
  std::map<std::vector<int64_t>, std::vector<Place>> places_;  // by the sizes of the block's groups
  std::vector<std::shared_ptr<arrow::Table>> kept_;
  std::atomic<uint64_t> seen_{0};
};

Json run(const Options& options) {
  Loop loop(options);
  std::vector<uint64_t> sums(options.columns.size());
  int64_t rows = loop.epoch(options.key.empty() ? nullptr : &sums);
  std::vector<std::pair<double, double>> each;  // seconds, CPU seconds
  for (int64_t e = 0; e < options.epochs; ++e) {
    const double begin = now_s(), cpu = process_cpu_s();
    rows = loop.epoch();
    each.emplace_back(now_s() - begin, process_cpu_s() - cpu);
  }
  std::ranges::sort(each);
  const auto [seconds, cpu] = each[each.size() / 2];
  Json found = Json::object(), all = Json::array();
  for (size_t c = 0; c < sums.size() && options.gather && !options.key.empty(); ++c)
    found[options.columns[c]] = sums[c];
  for (const auto& one : each) all.push_back(one.first);
  return {{"name", options.gather_only ? "bare gather"
                   : options.gather    ? "bare loop"
                                       : "bare decoding"},
          {"version", "arrow " ARROW_VERSION_STRING},
          {"settings",
           {{"threads", options.threads},
            {"block", options.block},
            {"gather", options.gather},
            {"checksum pass", options.checksum}}},
          {"rows", rows},
          {"seconds", seconds},
          {"cpu_s", cpu},
          {"rows_per_s", static_cast<double>(rows) / seconds},
          {"seconds_each_epoch", all},
          {"seen", loop.seen()},
          {"sums", found}};
}

constexpr const char* kUsage =
    "usage: bench_tables_limit --folder DIR --columns A,B,… [--key COLUMN] [--threads N] [--block GROUPS] [--epochs N] "
    "[--seed N] [--no-gather] [--gather-only] [--checksum]";

std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> parts;
  std::istringstream stream(text);
  for (std::string part; std::getline(stream, part, ',');) parts.push_back(part);
  return parts;
}

bool set_flag(Options& options, const std::string& name) {
  if (name == "--no-gather") return options.gather = false, true;
  if (name == "--gather-only") return options.gather_only = true;
  if (name == "--checksum") return options.checksum = true;
  return false;
}

bool set_value(Options& options, const std::string& name, const std::string& value) {
  const auto number = [&] { return std::max(1ll, std::atoll(value.c_str())); };
  if (name == "--folder") return options.folder = value, true;
  if (name == "--columns") return options.columns = split(value), true;
  if (name == "--key") return options.key = value, true;
  if (name == "--threads") return options.threads = number(), true;
  if (name == "--block") return options.block = number(), true;
  if (name == "--epochs") return options.epochs = number(), true;
  if (name == "--seed") return options.seed = static_cast<uint64_t>(number()), true;
  return false;
}

Options parse(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    if (set_flag(options, argv[i])) continue;
    if (i + 1 == argc || !set_value(options, argv[i], argv[i + 1])) fail(kUsage);
    ++i;
  }
  if (options.folder.empty() || options.columns.empty()) fail(kUsage);
  if (options.gather_only && !options.gather) fail("--gather-only and --no-gather leave nothing to do");
  return options;
}

}  // namespace

int main(int argc, char** argv) {
  const Options options = parse(argc, argv);
  try {
    fmt::print("{}\n", run(options).dump());
  } catch (const std::exception& error) {
    fail(error.what());
  }
  return 0;
}
