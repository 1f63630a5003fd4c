// Options and a state from a stranger, with a zero byte between them, as the C interface takes them, over numbers of ours (pipelines have a target of their
// own): they are refused with a reason, or a loader opens that gives a batch, an end or a failure with a reason.
#include <cstdio>
#include <cstdlib>
#include <string>

#include "capi/options.h"
#include "forebay/c.h"

static void require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "broken promise: %s\n", what);
  std::abort();
}

static void require_reason(fb_code code, const char* what) {
  require(code <= 0 || fb_last_error_message()[0] != '\0', what);
}

/// A pipeline over 100 numbers.
static const std::string& numbers() {
  static const std::string pipeline = [] {
    const char* path = "/tmp/forebay-fuzz-numbers.npy";
    std::FILE* file = std::fopen(path, "wb");
    std::string header = "\x93NUMPY\x01";
    header += std::string("\0\x76\0", 3) + "{'descr': '<i8', 'fortran_order': False, 'shape': (100,), }";
    header.resize(127, ' ');
    header += '\n';
    std::fwrite(header.data(), 1, header.size(), file);
    for (int64_t i = 0; i < 100; ++i) std::fwrite(&i, sizeof i, 1, file);
    std::fclose(file);
    return std::string(R"({"forebay_pipeline": 1, "steps": [{"op": "arrays", "fields": {"x": ")") + path +
           R"("}}, {"op": "shuffle"}, {"op": "batch", "n": 7}]})";
  }();
  return pipeline;
}

/// Options that start no thousands of threads and reach for no other host.
static bool harmless(const std::string& options) {
  const auto read = forebay::capi::options_from_json(options);
  if (!read.ok()) {
    require(!read.status().message().empty(), "a refusal of options has a reason");
    return true;
  }
  return read->resources.threads.value_or(1) <= 4 && read->job.peers.addresses.empty() &&
         read->stream.journal.empty() && read->storage_options.empty();
}

static void run(const std::string& options, const std::string& state) {
  fb_loader* loader = nullptr;
  const fb_code opened = fb_open(numbers().c_str(), options.c_str(), &loader);
  require((opened == FB_OK) == (loader != nullptr), "a loader comes with FB_OK and with nothing else");
  require_reason(opened, "a refusal has a reason");
  if (loader == nullptr) return;
  require_reason(fb_load_state(loader, state.c_str(), 0), "a refused state has a reason");
  fb_batch* batch = nullptr;
  const fb_code code = fb_next(loader, 10'000, &batch);
  require(code != FB_TIMED_OUT, "something comes");
  require_reason(code, "a failure has a reason");
  require(fb_batch_free(batch) == FB_OK, "a batch can be freed");
  require(fb_loader_free(loader) == FB_OK, "a loader can be freed");
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  const size_t end = text.find('\0');
  const std::string options = text.substr(0, end);
  const std::string state = end == std::string::npos ? std::string() : text.substr(end + 1);
  if (harmless(options)) run(options, state);
  return 0;
}
