// The bare loop: what libjpeg-turbo's crop decode and Forebay's resize and normalise kernels can do with nothing
// around them. No engine, no stores, no budgets: threads that take the next index and write into a ring of batches. It
// draws the same order and the same crops as the pipeline, so its pixels are Forebay's. bench/README.md has the output.
#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <fmt/format.h>
#include <jpeglib.h>

#include "base/work_memory.h"
#include "forebay/pipeline.h"
#include "limit_proof.h"
#include "ops/image/resampler.h"
#include "ops/image/row_writer.h"
#include "ops/random_resized_crop.h"
#include "plan/order.h"
#include "plan/random.h"
#include "telemetry/step_counters.h"

namespace {

using namespace forebay;
using namespace forebay::bench;
constexpr int64_t kRing = 3;  // batches in the works
constexpr size_t kSlack = 256;

enum class Mode { kAll, kCrop, kFull };

struct Options {
  std::string list;
  Mode mode = Mode::kAll;
  bool from_disk = false, proof = false;
  int64_t batch = 64, threads = 2, epochs = 1;
  uint64_t seed = 7;
};

[[noreturn]] void fail(const std::string& message) {
  fmt::print(stderr, "bench_limit: {}\n", message);
  std::exit(1);
}

std::vector<uint8_t> read_file(const std::string& path) {
  std::unique_ptr<FILE, int (*)(FILE*)> file(std::fopen(path.c_str(), "rb"), std::fclose);
  if (!file || std::fseek(file.get(), 0, SEEK_END) != 0) fail(path + ": cannot be read");
  std::vector<uint8_t> bytes(static_cast<size_t>(std::ftell(file.get())));
  std::rewind(file.get());
  if (std::fread(bytes.data(), 1, bytes.size(), file.get()) != bytes.size()) fail(path + ": cannot be read");
  return bytes;
}

std::vector<Photograph> read_list(const Options& options) {
  std::ifstream lines(options.list);
  std::vector<Photograph> photographs;
  for (std::string line; std::getline(lines, line);) {
    const size_t tab = line.find('\t');
    Photograph one{line.substr(0, tab), tab == std::string::npos ? "" : line.substr(tab + 1), {}};
    if (!options.from_disk) one.bytes = read_file(one.path);
    photographs.push_back(std::move(one));
  }
  if (photographs.empty()) fail(options.list + ": no photographs; a line is a path, a tab and a class");
  return photographs;
}

/// libjpeg-turbo on one thread. Errors end the program, as the library does on its own.
class Decoder {
 public:
  Decoder() {
    library_.err = jpeg_std_error(&errors_);
    jpeg_create_decompress(&library_);
  }
  ~Decoder() { jpeg_destroy_decompress(&library_); }

  void open(const std::vector<uint8_t>& bytes) {
    jpeg_mem_src(&library_, bytes.data(), bytes.size());
    jpeg_read_header(&library_, TRUE);
    library_.out_color_space = JCS_RGB;
  }
  int64_t width() const { return library_.image_width; }
  int64_t height() const { return library_.image_height; }

  /// Rows of `part`, and nothing else, are decoded.
  void decode(const Rect& part, RowSink* sink) {
    jpeg_start_decompress(&library_);
    row_.resize(static_cast<size_t>(width() * 3) + kSlack);
    const int64_t first = crop_columns(part);
    if (part.y > 0) jpeg_skip_scanlines(&library_, static_cast<JDIMENSION>(part.y));
    uint8_t* row = row_.data();
    for (int64_t y = 0; y < part.height; ++y) {
      jpeg_read_scanlines(&library_, &row, 1);
      if (sink != nullptr) sink->row(row + first * 3);
    }
    jpeg_abort_decompress(&library_);
  }

 private:
  // A column more on each side, because the library interpolates colours across them.
  int64_t crop_columns(const Rect& part) {
    const int64_t begin = std::max<int64_t>(part.x - 1, 0), end = std::min(part.x + part.width + 1, width());
    if (end - begin < 64 || end - begin == width()) return part.x;
    auto offset = static_cast<JDIMENSION>(begin), count = static_cast<JDIMENSION>(end - begin);
    jpeg_crop_scanline(&library_, &offset, &count);
    return part.x - offset;
  }

  jpeg_decompress_struct library_{};
  jpeg_error_mgr errors_{};
  std::vector<uint8_t> row_;
};

PixelFormat output_format() {
  PixelFormat format{.width = kSide,
                     .height = kSide,
                     .channels = 3,
                     .channels_first = true,
                     .dtype = DType::kFloat32,
                     .scaled = true,
                     .pointwise = {}};
  const NormalizeOptions normalize = imagenet();
  for (size_t c = 0; c < 3; ++c) {
    format.pointwise.scale[c] = static_cast<float>(1.0 / (255.0 * normalize.std[c]));
    format.pointwise.bias[c] = static_cast<float>(-normalize.mean[c] / normalize.std[c]);
  }
  return format;
}

/// What one thread needs to make samples.
class Worker {
 public:
  explicit Worker(const Options& options) : options_(options) {}

  void make(const std::vector<uint8_t>& bytes, const SampleKey& key, float* out) {
    decoder_.open(bytes);
    if (options_.mode == Mode::kFull) return decoder_.decode({0, 0, decoder_.width(), decoder_.height()}, nullptr);
    RandomStream draw(key, 0);
    const Rect crop = draw_crop(decoder_.height(), decoder_.width(), CropRanges{}, draw);
    const bool flip = RandomStream(key, 1).uniform() < 0.5;
    ResampleSpec spec;
    spec.horizontal = {crop.width, kSide, 0, kSide, Interpolation::kBilinear, false, flip};
    spec.vertical = {crop.height, kSide, 0, kSide, Interpolation::kBilinear, false, false};
    spec.width = kSide;
    const AxisRange columns = input_range(spec.horizontal), rows = input_range(spec.vertical);
    const Rect part{crop.x + columns.first, crop.y + rows.first, columns.count, rows.count};
    if (options_.mode == Mode::kCrop) return decoder_.decode(part, nullptr);
    if (!memory_.reserve(spec.working_bytes()).ok()) fail("no memory");
    RowWriter writer(format_, kernels_, {reinterpret_cast<uint8_t*>(out), kFloats * sizeof(float)});
    Resampler resampler(spec, kernels_, writer, memory_, 0);
    decoder_.decode(part, &resampler);
    memory_.release(spec.working_bytes());
  }

 private:
  const Options& options_;
  const PixelFormat format_ = output_format();
  const ImageKernels& kernels_ = image_kernels(simd_level());
  WorkMemory memory_;
  Decoder decoder_;
};

/// The loop: every thread takes the next index of an endless sequence of epochs.
class Loop {
 public:
  Loop(const Options& options, const std::vector<Photograph>& photographs)
      : options_(options), photographs_(photographs), size_(static_cast<int64_t>(photographs.size())),
        order_(shuffled_order(size_, options.seed)), total_(size_ * (options.epochs + 1 + options.proof)) {
    for (LoopBatch& batch : ring_) {
      batch.images = static_cast<float*>(std::aligned_alloc(4096, round_up(static_cast<size_t>(options.batch))));
      batch.ids.resize(static_cast<size_t>(options.batch));
    }
    for (int64_t b = 0; b < kRing; ++b) ring_[b].left = batch_size(b);
    for (int64_t t = 0; t < options.threads; ++t) threads_.emplace_back([this] { work(); });
  }
  ~Loop() {
    for (std::thread& thread : threads_) thread.join();
    for (LoopBatch& batch : ring_) std::free(batch.images);
  }

  int64_t batches_per_epoch() const { return (size_ + options_.batch - 1) / options_.batch; }
  int64_t batch_size(int64_t b) const {
    return std::min(options_.batch, size_ - b % batches_per_epoch() * options_.batch);
  }

  /// Batches come one after the other; the one before is given back.
  const LoopBatch& next() {
    std::unique_lock lock(mutex_);
    if (given_ > 0) {
      ring_[(given_ - 1) % kRing].left = batch_size(given_ - 1 + kRing);
      ++free_until_;
      room_.notify_all();
    }
    LoopBatch& batch = ring_[given_++ % kRing];
    ready_.wait(lock, [&] { return batch.left == 0; });
    return batch;
  }

 private:
  static size_t round_up(size_t batch) { return (batch * kFloats * sizeof(float) + kSlack + 4095) / 4096 * 4096; }

  void work() {
    Worker worker(options_);
    std::vector<uint8_t> read;
    for (int64_t i = next_.fetch_add(1); i < total_; i = next_.fetch_add(1)) {
      const int64_t epoch = i / size_, position = i % size_;
      const int64_t b = epoch * batches_per_epoch() + position / options_.batch;
      wait_for_room(b);
      LoopBatch& batch = ring_[b % kRing];
      const int64_t id = order_->id_at(epoch, position);
      const Photograph& photograph = photographs_[static_cast<size_t>(id)];
      if (options_.from_disk) read = read_file(photograph.path);
      const int64_t row = position % options_.batch;
      batch.ids[static_cast<size_t>(row)] = id;
      worker.make(options_.from_disk ? read : photograph.bytes, {options_.seed, epoch, id, 0},
                  batch.images + row * kFloats);
      if (batch.left.fetch_sub(1) == 1) {
        const std::lock_guard lock(mutex_);
        ready_.notify_one();
      }
    }
  }

  void wait_for_room(int64_t b) {
    if (b < free_until_) return;
    std::unique_lock lock(mutex_);
    room_.wait(lock, [&] { return b < free_until_; });
  }

  const Options& options_;
  const std::vector<Photograph>& photographs_;
  const int64_t size_;
  const std::unique_ptr<Order> order_;
  const int64_t total_;
  LoopBatch ring_[kRing];
  std::atomic<int64_t> next_{0};
  std::atomic<int64_t> free_until_{kRing};
  int64_t given_ = 0;
  std::mutex mutex_;
  std::condition_variable ready_, room_;
  std::vector<std::thread> threads_;
};

double seconds_since(int64_t begin_ns) { return static_cast<double>(monotonic_ns() - begin_ns) * 1e-9; }

double process_cpu_seconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
         static_cast<double>(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1e-6;
}

struct Epoch {
  double seconds = 0, cpu_seconds = 0, consumer_cpu_seconds = 0;
  double first_batch_seconds = 0;
  Json proof;
};

Epoch run_epoch(Loop& loop, const Options& options, const std::vector<Photograph>& photographs, int64_t epoch,
                bool every_pixel = false) {
  Epoch result;
  Proof proof(photographs, options.mode == Mode::kAll, every_pixel ? 1 : 32);
  const int64_t begin_ns = monotonic_ns();
  const double begin_cpu = process_cpu_seconds();
  for (int64_t b = 0; b < loop.batches_per_epoch(); ++b) {
    const LoopBatch& batch = loop.next();
    if (b == 0) result.first_batch_seconds = seconds_since(begin_ns);
    const int64_t consumer_ns = thread_cpu_ns();
    proof.add(batch, loop.batch_size(epoch * loop.batches_per_epoch() + b));
    result.consumer_cpu_seconds += static_cast<double>(thread_cpu_ns() - consumer_ns) * 1e-9;
  }
  result.seconds = seconds_since(begin_ns);
  result.cpu_seconds = process_cpu_seconds() - begin_cpu;
  result.proof = proof.to_json();
  return result;
}

const char* what_it_does(Mode mode) {
  return mode == Mode::kAll ? "everything" : mode == Mode::kCrop ? "crop decode alone" : "full decode alone";
}

#define FOREBAY_TEXT_INNER(x) #x
#define FOREBAY_TEXT(x) FOREBAY_TEXT_INNER(x)

Json run(const Options& options, int64_t started_ns) {
  const std::vector<Photograph> photographs = read_list(options);
  const int64_t loop_ns = monotonic_ns();
  Loop loop(options, photographs);
  const double made_seconds = seconds_since(loop_ns);
  const Epoch warm_up = run_epoch(loop, options, photographs, 0);
  std::vector<Epoch> timed;
  for (int64_t epoch = 1; epoch <= options.epochs; ++epoch)
    timed.push_back(run_epoch(loop, options, photographs, epoch));
  std::vector<double> each;
  for (const Epoch& epoch : timed) each.push_back(epoch.seconds);
  std::ranges::nth_element(timed, timed.begin() + options.epochs / 2, {}, &Epoch::seconds);
  const Epoch& middle = timed[static_cast<size_t>(options.epochs / 2)];
  const auto samples = static_cast<double>(photographs.size());
  const double first_seconds = made_seconds + warm_up.first_batch_seconds;
  Json json = {{"name", "bare loop"},
               {"version", "libjpeg-turbo " FOREBAY_TEXT(LIBJPEG_TURBO_VERSION)},
               {"settings",
                {{"resample", "bilinear, anti-aliased"},
                 {"does", what_it_does(options.mode)},
                 {"files", options.from_disk ? "read each time" : "in memory"},
                 {"simd", simd_level_name(simd_level())}}},
               {"batch", options.batch},
               {"threads", options.threads},
               {"seed", options.seed},
               {"seconds", middle.seconds},
               {"cpu_s", middle.cpu_seconds},
               {"consumer_cpu_s", middle.consumer_cpu_seconds},
               {"samples_per_s", samples / middle.seconds},
               {"cpu_s_per_1000", middle.cpu_seconds * 1000 / samples},
               {"seconds_each_epoch", each},
               {"first_batch_from_loader_s", first_seconds},
               {"first_batch_from_process_s", static_cast<double>(loop_ns - started_ns) * 1e-9 + first_seconds},
               {"timed", middle.proof}};
  if (options.proof) json["proof"] = run_epoch(loop, options, photographs, options.epochs + 1, true).proof;
  return json;
}

constexpr const char* kUsage =
    "usage: bench_limit --list FILE [--mode all|crop|full] [--batch N] [--threads N] [--epochs N] [--seed N] "
    "[--from-disk] "
    "[--proof]; a line of FILE is a path, a tab and a class";

Options parse(int argc, char** argv) {
  Options options;
  const std::map<std::string, Mode> modes = {{"all", Mode::kAll}, {"crop", Mode::kCrop}, {"full", Mode::kFull}};
  for (int i = 1; i < argc; ++i) {
    const std::string name = argv[i];
    if (name == "--from-disk")
      options.from_disk = true;
    else if (name == "--proof")
      options.proof = true;
    else if (i + 1 == argc)
      fail(kUsage);
    else if (name == "--list")
      options.list = argv[++i];
    else if (name == "--mode" && modes.contains(argv[i + 1]))
      options.mode = modes.at(argv[++i]);
    else if (name == "--batch")
      options.batch = std::max(1ll, std::atoll(argv[++i]));
    else if (name == "--threads")
      options.threads = std::max(1ll, std::atoll(argv[++i]));
    else if (name == "--epochs")
      options.epochs = std::max(1ll, std::atoll(argv[++i]));
    else if (name == "--seed")
      options.seed = std::strtoull(argv[++i], nullptr, 10);
    else
      fail(fmt::format("'{}' is no option, or '{}' no value for it", name, argv[i + 1]));
  }
  if (options.list.empty()) fail(kUsage);
  return options;
}

}  // namespace

int main(int argc, char** argv) {
  const char* started = std::getenv("BENCH_STARTED_NS");
  const int64_t started_ns = started != nullptr ? std::atoll(started) : monotonic_ns();
  const Options options = parse(argc, argv);
  fmt::print("{}\n", run(options, started_ns).dump());
  return 0;
}
