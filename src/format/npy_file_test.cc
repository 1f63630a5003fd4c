#include "format/npy_file.h"

#include <gtest/gtest.h>
#include <signal.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <thread>

#include <fmt/format.h>

#include "store/scratch_folder.h"

namespace forebay {

namespace {

std::string npy(const std::string& header, const std::string& data, int major = 1) {
  std::string file("\x93NUMPY", 6);
  file += static_cast<char>(major);
  file += '\0';
  const size_t length = header.size();
  for (int i = 0; i < (major == 1 ? 2 : 4); ++i) file += static_cast<char>(length >> (8 * i) & 0xFF);
  return file + header + data;
}

std::string describe(const std::string& descr, const std::string& shape, const std::string& order = "False") {
  return fmt::format("{{'descr': {}, 'fortran_order': {}, 'shape': {}, }}          \n", descr, order, shape);
}

Result<NpyHeader> parse(const std::string& file) {
  return parse_npy_header({reinterpret_cast<const uint8_t*>(file.data()), file.size()}, file.size());
}

}  // namespace

TEST(NpyFile, ReadsEveryVersionAndType) {
  for (const int major : {1, 2, 3}) {
    const auto header = parse(npy(describe("'<f4'", "(2, 3)"), std::string(24, 'x'), major)).value();
    EXPECT_EQ(header.dtype, DType::kFloat32);
    EXPECT_EQ(header.shape, (Shape{2, 3}));
  }
  const std::pair<const char*, DType> types[] = {
      {"'|b1'", DType::kBool},  {"'|u1'", DType::kUint8},   {"'|i1'", DType::kInt8},    {"'<u2'", DType::kUint16},
      {"'<i2'", DType::kInt16}, {"'<u4'", DType::kUint32},  {"'<i4'", DType::kInt32},   {"'<u8'", DType::kUint64},
      {"'<i8'", DType::kInt64}, {"'<f2'", DType::kFloat16}, {"'<f8'", DType::kFloat64}, {"'=f4'", DType::kFloat32},
      {"'>u1'", DType::kUint8}};
  for (const auto& [descr, dtype] : types) {
    const auto header = parse(npy(describe(descr, "(1,)"), std::string(8, 'x')));
    ASSERT_TRUE(header.ok()) << descr << header.status().to_string();
    EXPECT_EQ(header->dtype, dtype) << descr;
  }
  EXPECT_EQ(parse(npy(describe("'<f4'", "()"), "1234")).value().shape.rank(), 0u);
  EXPECT_EQ(parse(npy(describe("'<f4'", "(0, 9223372036854775807)"), "")).value().shape[0], 0);
  EXPECT_TRUE(parse(npy(describe("'<f4'", "(1L,)"), "1234")).ok()) << "written by Python 2";
  EXPECT_TRUE(parse(npy(describe("'<f4'", "(1,)", "True"), "1234")).ok()) << "one axis has only one order";
}

TEST(NpyFile, WhatIsNotHandledNamesTheWayOut) {
  const auto unsupported_with = [](const std::string& header, const char* remedy) {
    const Status status = parse(npy(header, std::string(100, 'x'))).status();
    EXPECT_EQ(status.code(), Code::kUnsupported) << header;
    EXPECT_NE(status.message().find(remedy), std::string::npos) << status.message();
  };
  unsupported_with(describe("'|O'", "(3,)"), "never loaded");
  unsupported_with(describe("[('x', '<f4'), ('y', '<i4')]", "(3,)"), "each field");
  unsupported_with(describe("'>f4'", "(3,)"), "newbyteorder");
  unsupported_with(describe("'<f4'", "(3, 2)", "True"), "ascontiguousarray");
  unsupported_with(describe("'>U5'", "(3,)"), "newbyteorder");
  unsupported_with(describe("'|S5'", "(3, 2)"), "each column");
  unsupported_with(describe("'<M8[ns]'", "(3,)"), "int64");
  unsupported_with(describe("'<c8'", "(3,)"), "side by side");
  unsupported_with(describe("'<f16'", "(3,)"), "float array");
  unsupported_with(describe("'|u1'", "(1,1,1,1,1,1,1,1,1)"), "9 dimensions");
  EXPECT_EQ(parse(npy(describe("'<f4'", "(1,)"), "1234", 4)).status().code(), Code::kUnsupported);
}

TEST(NpyFile, LiesOfTheHeaderAreCorrupt) {
  const auto corrupt_file = [](const std::string& file) {
    EXPECT_EQ(parse(file).status().code(), Code::kCorrupt) << file;
  };
  corrupt_file("");
  corrupt_file("no numpy file at all");
  corrupt_file(npy(describe("'<f4'", "(3,)"), "short"));
  corrupt_file(npy(describe("'<f4'", "(4611686018427387904,)"), "short"));
  corrupt_file(npy(describe("'<f4'", "(4294967296, 4294967296, 4294967296)"), "short"));
  corrupt_file(npy(describe("'<f4'", "(18446744073709551616,)"), "short"));
  corrupt_file(npy(describe("'<f4'", "(-1,)"), "short"));
  corrupt_file(npy(describe("'<f4'", "3"), "short"));
  corrupt_file(npy(describe("'<U3'", "(3,)"), std::string(35, 'x')));
  corrupt_file(npy(describe("'<U'", "(3,)"), std::string(36, 'x')));
  corrupt_file(npy(describe("'<U-1'", "(3,)"), std::string(36, 'x')));
  corrupt_file(npy(describe("'<U4611686018427387904'", "(3,)"), std::string(36, 'x')));
  corrupt_file(npy(describe("'<U99999999999999999999'", "(3,)"), std::string(36, 'x')));
  corrupt_file(npy("{'descr': '<f4', 'shape': (1,)}", "1234"));
  corrupt_file(npy("{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': (1,)}", "1234"));
  corrupt_file(npy("{'descr': '<f4', 'fortran_order': False, 'shape': (1,)} + x", "1234"));
  corrupt_file(npy("{'descr': __import__('os')", "1234"));
  const std::string whole = npy(describe("'<f4'", "(1,)"), "");
  for (size_t size = 0; size <= whole.size(); ++size) corrupt_file(whole.substr(0, size));
  std::string long_header = npy("", "", 2);
  long_header[8] = long_header[9] = long_header[10] = long_header[11] = '\xff';
  corrupt_file(long_header);
}

TEST(NpyFile, MapsFiles) {
  ScratchFolder folder;
  folder.write("x.npy", npy(describe("'|u1'", "(2, 3)"), "abcdef"));
  const auto source = open_arrays({{"x", {}, folder.path("x.npy")}}).value();
  Record record;
  ASSERT_TRUE(source->as_samples()->load(1, {}, record).ok());
  WorkMemory memory;
  ASSERT_TRUE(record[0].materialize(memory).ok());
  EXPECT_EQ(std::string(record[0].tensor.data<char>(), 3), "def");
  EXPECT_EQ(open_arrays({{"x", {}, "file://" + folder.path("x.npy")}}).value()->version(), source->version());
  EXPECT_EQ(map_npy_file(folder.path("none.npy")).status().code(), Code::kNotFound);
  EXPECT_EQ(map_npy_file(folder.path()).status().code(), Code::kUnsupported);
  folder.write("empty.npy", "");
  const Status empty = map_npy_file(folder.path("empty.npy")).status();
  EXPECT_EQ(empty.code(), Code::kCorrupt);
  EXPECT_EQ(empty.key(), folder.path("empty.npy"));
  EXPECT_EQ(open_arrays({{"x", {}, "s3://bucket/x.npy"}}).status().code(), Code::kUnsupported);
}

TEST(NpyFile, RowsAreKnownByTheirFileWithoutReadingThem) {
  ScratchFolder folder;
  folder.write("x.npy", npy(describe("'|u1'", "(2, 3)"), "abcabc"));
  const auto opened = [&] { return open_arrays({{"x", {}, folder.path("x.npy")}}).value(); };
  const auto source = opened();
  ASSERT_TRUE(source->identity(0));
  EXPECT_NE(source->identity(0), source->identity(1)) << "which row it is, whatever is in it";
  EXPECT_EQ(source->identity(0), opened()->identity(0));
  folder.write("y.npy", npy(describe("'|u1'", "(2, 3)"), "abcabc"));
  std::filesystem::rename(folder.path("y.npy"), folder.path("x.npy"));
  EXPECT_NE(source->identity(0), opened()->identity(0)) << "another file of the same name";
}

// Rows of one page each. The file is truncated within row 2 while a source is open.
TEST(NpyFile, AFileThatBecomesShorterIsAnErrorAndNoSignal) {
  constexpr size_t kRow = 4096;
  ScratchFolder folder;
  const std::string head = npy(describe("'|u1'", "(5, 4096)"), "");
  folder.write("x.npy", head + std::string(5 * kRow, 'x'));
  const auto source = open_arrays({{"x", {}, folder.path("x.npy")}}).value();
  EXPECT_TRUE(source->check_intact().ok());
  std::filesystem::resize_file(folder.path("x.npy"), head.size() + 2 * kRow + 100);

  std::vector<uint8_t> rows(2 * kRow);
  const std::vector<int64_t> there = {0, 1}, gone = {0, 4};
  for (int round = 0; round < 2; ++round) {  // the signal must not stay blocked after the first
    EXPECT_TRUE(source->as_samples()->gather(0, there, rows.data()).ok());
    const Status status = source->as_samples()->gather(0, gone, rows.data());
    EXPECT_EQ(status.code(), Code::kUnavailable);
    EXPECT_EQ(status.key(), folder.path("x.npy"));
    EXPECT_NE(status.message().find("became shorter"), std::string::npos) << status.message();
  }
  WorkMemory memory;
  Record record;
  ASSERT_TRUE(source->as_samples()->load(4, {}, record).ok());
  EXPECT_EQ(record[0].copy().materialize(memory).code(), Code::kUnavailable);
  EXPECT_EQ(record[0].write({rows.data(), kRow}, memory).code(), Code::kUnavailable);
  EXPECT_EQ(source->check_intact().code(), Code::kUnavailable);
  EXPECT_EQ(open_arrays({{"x", {}, folder.path("x.npy")}}).status().code(), Code::kCorrupt);
}

// Within the last page the kernel returns zeros and raises no signal.
TEST(NpyFile, AFileThatBecomesShorterByLessThanAPageIsNoticed) {
  ScratchFolder folder;
  folder.write("x.npy", npy(describe("'|u1'", "(2, 3)"), "abcdef"));
  const auto source = open_arrays({{"x", {}, folder.path("x.npy")}}).value();
  std::filesystem::resize_file(folder.path("x.npy"), std::filesystem::file_size(folder.path("x.npy")) - 1);
  EXPECT_EQ(source->check_intact().code(), Code::kUnavailable);
}

// Several threads, because each has its own guard.
TEST(NpyFile, ManyThreadsMayFindAFileShorter) {
  constexpr size_t kBytes = size_t{1} << 20;
  ScratchFolder folder;
  const std::string head = npy(describe("'|u1'", "(1048576,)"), "");
  folder.write("x.npy", head + std::string(kBytes, 'x'));
  const auto source = open_arrays({{"x", {}, folder.path("x.npy")}}).value();
  std::vector<std::thread> threads;
  std::atomic<int> failed{0}, ready{0};
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      sigset_t all;  // as on the engine's threads
      sigfillset(&all);
      pthread_sigmask(SIG_BLOCK, &all, nullptr);
      std::vector<int64_t> ids(1000);
      std::vector<uint8_t> out(ids.size());
      for (int64_t i = 0; i < 1000; ++i) ids[static_cast<size_t>(i)] = i * 1000;
      for (bool whole = true; whole; ready = ready + 1) whole = source->as_samples()->gather(0, ids, out.data()).ok();
      ++failed;
    });
  }
  while (ready == 0) std::this_thread::yield();
  std::filesystem::resize_file(folder.path("x.npy"), 4096);
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(failed, 4);
}

TEST(NpyFile, TextIsOneTextASample) {
  ScratchFolder folder;
  folder.write("s.npy", npy(describe("'|S3'", "(3,)"), std::string("ab\0xyz\0\0\0", 9)));
  const auto source = open_arrays({{"s", {}, folder.path("s.npy")}}).value();
  EXPECT_EQ(source->schema()[0].kind, FieldKind::kText);
  EXPECT_FALSE(source->as_samples()->gathers(0));
  std::vector<std::string> texts;
  for (int64_t id = 0; id < 3; ++id) {
    Record record;
    ASSERT_TRUE(source->as_samples()->load(id, {}, record).ok());
    texts.emplace_back(reinterpret_cast<const char*>(record[0].bytes.data()), record[0].bytes.size());
  }
  EXPECT_EQ(texts, (std::vector<std::string>{"ab", "xyz", ""}));
  folder.write("u.npy", npy(describe("'|u1'", "(3, 3)"), std::string("ab\0xyz\0\0\0", 9)));
  EXPECT_NE(open_arrays({{"s", {}, folder.path("u.npy")}}).value()->version(), source->version());
}

TEST(NpyFile, ReadsFilesOfOthers) {
  const char* given = std::getenv("FOREBAY_SHARED");
  const std::filesystem::path shared = given != nullptr ? given : FOREBAY_SOURCE_DIR "/../shared";
  const auto folder = shared / "data/audio/librispeech-decoded";
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << "SHARED DATA ABSENT: " << folder;
  int read = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() != ".npy") continue;
    const auto view = map_npy_file(entry.path().string());
    ASSERT_TRUE(view.ok()) << view.status().to_string();
    EXPECT_EQ(view->dtype, DType::kInt16);
    ++read;
  }
  EXPECT_GT(read, 0);
}

}  // namespace forebay
