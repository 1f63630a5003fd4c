#pragma once

// Support for the tests of this folder: pictures made by a formula, golden results, and pipelines
// of operators run on one record.

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "ops/definition/registry.h"
#include "ops/image/simd_level.h"
#include "pipeline/catalog.h"
#include "pipeline/description.h"
#include "pipeline/operator.h"

namespace forebay::ops_test {

using Blob = std::vector<uint8_t>;

/// The same picture as tests/golden/make_resize.py makes.
inline Tensor picture(int64_t height, int64_t width, int64_t channels) {
  Tensor tensor = Tensor::allocate(DType::kUint8, {height, width, channels});
  uint8_t* out = tensor.data<uint8_t>();
  for (int64_t y = 0; y < height; ++y) {
    for (int64_t x = 0; x < width; ++x) {
      for (int64_t c = 0; c < channels; ++c) {
        const int64_t mixed = ((x * 73856093) ^ (y * 19349663) ^ (c * 83492791)) >> 5;
        *out++ = static_cast<uint8_t>(x * 3 + y * 2 + c * 60 + mixed % 97);
      }
    }
  }
  return tensor;
}

inline Blob bytes_of(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  EXPECT_TRUE(file) << path;
  return {std::istreambuf_iterator<char>(file), {}};
}

/// The bytes of a uint8 .npy file of tests/golden.
inline Blob golden(const std::string& name) {
  const Blob file = bytes_of(std::filesystem::path(FOREBAY_SOURCE_DIR) / "tests/golden" / (name + ".npy"));
  if (file.size() < 10) return {};
  const size_t header = 10 + file[8] + 256 * static_cast<size_t>(file[9]);
  return {file.begin() + static_cast<std::ptrdiff_t>(header), file.end()};
}

inline Field tensor_field(std::string name, DType dtype, Shape shape) {
  Field field;
  field.name = std::move(name);
  field.dtype = dtype;
  field.shape = shape;
  return field;
}

inline Field bytes_field(std::string name) {
  Field field;
  field.name = std::move(name);
  field.kind = FieldKind::kBytes;
  return field;
}

inline Field picture_field(std::string name = "image", int64_t channels = 3) {
  Field field = tensor_field(std::move(name), DType::kUint8, {Shape::kUnknown, Shape::kUnknown, channels});
  field.image = true;
  return field;
}

inline OpSpec step(std::string name, Json args = Json::object()) {
  return {std::move(name), std::move(args), nullptr, ""};
}

inline const OpDef& op(const std::string& name) {
  static const std::vector<OpDef> ops = all_ops();
  for (const OpDef& def : ops) {
    if (def.name == name) return def;
  }
  ADD_FAILURE() << "no operator " << name;
  return ops.front();
}

/// The problems that check() would list for these steps.
inline std::vector<Problem> problems_of(Schema schema, const std::vector<OpSpec>& steps) {
  std::vector<Problem> problems;
  for (const OpSpec& spec : steps) op(spec.name).infer(spec, schema, problems);
  return problems;
}

/// Like problems_of(), and with the rules about steps that depend on each other.
inline std::vector<Problem> problems_of_pipeline(const Schema& schema, std::vector<OpSpec> steps) {
  steps.insert(steps.begin(), OpSpec{"images", {{"root", "photos"}}, nullptr, ""});
  return infer(Description::of(std::move(steps)), schema, Catalog(all_ops())).problems;
}

inline Schema schema_after(Schema schema, const std::vector<OpSpec>& steps) {
  std::vector<Problem> problems;
  for (const OpSpec& spec : steps) op(spec.name).infer(spec, schema, problems);
  for (const Problem& problem : problems) ADD_FAILURE() << problem.message << ": " << problem.remedy;
  return schema;
}

struct RunOptions {
  SampleKey key = {.seed = 7, .epoch = 0, .id = 0, .occurrence = 0};
  bool materialize_each = false;  ///< computes every field after every operator
  uint64_t grant = UINT64_MAX;
};

/// Runs the steps on a record and materializes all its values.
inline Status run(Schema schema, const std::vector<OpSpec>& steps, Record& record, const RunOptions& options = {}) {
  WorkMemory memory(options.grant);
  const SampleContext context = {options.key, &memory};
  uint32_t random_index = 0;
  for (const OpSpec& spec : steps) {
    const OpDef& def = op(spec.name);
    FOREBAY_ASSIGN(const auto ready, def.compile(spec, schema, def.random ? random_index++ : 0));
    FOREBAY_RETURN_IF_ERROR(ready->apply(record, context));
    std::vector<Problem> problems;
    def.infer(spec, schema, problems);
    for (const Problem& problem : problems) ADD_FAILURE() << problem.message << ": " << problem.remedy;
    for (Value& value : record) {
      if (options.materialize_each) FOREBAY_RETURN_IF_ERROR(value.materialize(memory));
    }
  }
  for (Value& value : record) FOREBAY_RETURN_IF_ERROR(value.materialize(memory));
  return {};
}

inline Record record_of(Tensor tensor) {
  Record record;
  record.push_back(Value::of(std::move(tensor)));
  return record;
}

inline Blob blob(const Tensor& tensor) { return {tensor.buffer.data(), tensor.buffer.data() + tensor.nbytes()}; }

/// Runs the steps on one picture. Returns the resulting tensor, or an empty one after a failure.
inline Tensor run_picture(const Tensor& picture, const std::vector<OpSpec>& steps, const RunOptions& options = {}) {
  Record record = record_of(picture);
  const Status status = run(Schema({picture_field("image", picture.shape[2])}), steps, record, options);
  EXPECT_TRUE(status.ok()) << status.to_string();
  return status.ok() ? record[0].tensor : Tensor();
}

/// Empty if the shared data is missing; the test is then skipped with a message.
inline std::filesystem::path shared_data() {
  const char* set = std::getenv("FOREBAY_SHARED");
  const std::filesystem::path root = set != nullptr ? set : std::filesystem::path(FOREBAY_SOURCE_DIR) / "../shared";
  return std::filesystem::exists(root / "data") ? root / "data" : std::filesystem::path();
}

inline Value encoded(const Blob& bytes) {
  Buffer buffer = Buffer::allocate(bytes.size());
  std::copy(bytes.begin(), bytes.end(), buffer.data());
  return Value::of_bytes(std::move(buffer));
}

}  // namespace forebay::ops_test
