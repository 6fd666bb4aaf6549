# Read by llama.cpp's build after each of its projects is declared, see .cargo/config.toml.
if(NOT PROJECT_NAME STREQUAL "llama.cpp")
    return()
endif()

# GCC 12 takes all but the first eight bytes of the AMX tile configuration for dead stores, since its `_tile_loadconfig`
# does not say that it reads them; the first prompt would end in an illegal instruction. One file has such stores.
cmake_language(DEFER CALL set_source_files_properties ${CMAKE_SOURCE_DIR}/ggml/src/ggml-cpu/amx/mmq.cpp
    DIRECTORY ${CMAKE_SOURCE_DIR}/ggml/src
    PROPERTIES COMPILE_OPTIONS $<$<CXX_COMPILER_ID:GNU>:-fno-dse>)

# llama-cpp-sys-2 always asks for the library that llama.cpp's own programs share. The engine uses nothing of it, and its fifty
# files take long to compile.
set(LLAMA_BUILD_COMMON OFF CACHE BOOL "" FORCE)

# `make run` and `make test`: the tokens are computed by ggml, which stays fully optimized. The library around it, with the graphs of more
# than a hundred architectures, takes a third less to compile so.
if("$ENV{FOREBAY_ENGINE_QUICK}" STREQUAL "1")
    cmake_language(DEFER CALL target_compile_options llama PRIVATE -O1)
endif()

# Packages contain one CPU library for each of 14 generations of x86 CPUs. Compiling all of them takes minutes, so other
# builds contain only the one for this machine's CPU, unless FOREBAY_ENGINE_CPUS=all.
if("$ENV{FOREBAY_ENGINE_CPUS}" STREQUAL "all" OR NOT EXISTS /proc/cpuinfo
        OR NOT CMAKE_SYSTEM_PROCESSOR STREQUAL "x86_64" OR CMAKE_CROSSCOMPILING)
    return()
endif()
file(STRINGS /proc/cpuinfo flags REGEX "^flags" LIMIT_COUNT 1)
string(REGEX REPLACE "^flags[^:]*:" "" flags "${flags}")
separate_arguments(flags)

# llama.cpp's options and the flags that /proc/cpuinfo shows for them.
set(option_SSE42 sse4_2)
set(option_AVX avx)
set(option_F16C f16c)
set(option_FMA fma)
set(option_BMI2 bmi2)
set(option_AVX2 avx2)
set(option_AVX_VNNI avx_vnni)
set(option_AVX512 avx512f avx512cd avx512vl avx512dq avx512bw)
set(option_AVX512_VBMI avx512vbmi)
set(option_AVX512_VNNI avx512_vnni)
set(option_AVX512_BF16 avx512_bf16)
set(option_AMX_TILE amx_tile)
set(option_AMX_INT8 amx_int8)

set(GGML_CPU_ALL_VARIANTS OFF CACHE BOOL "" FORCE)
foreach(option SSE42 AVX F16C FMA BMI2 AVX2 AVX_VNNI AVX512 AVX512_VBMI AVX512_VNNI AVX512_BF16 AMX_TILE AMX_INT8)
    set(supported ON)
    foreach(flag IN LISTS option_${option})
        if(NOT flag IN_LIST flags)
            set(supported OFF)
        endif()
    endforeach()
    set(GGML_${option} ${supported} CACHE BOOL "" FORCE)
endforeach()
