# Read by llama.cpp's build after each of its projects is declared, see .cargo/config.toml.
#
# GCC 12 takes all but the first eight bytes of the AMX tile configuration for dead stores, since its `_tile_loadconfig`
# does not say that it reads them; the first prompt would end in an illegal instruction. One file has such stores.
if(PROJECT_NAME STREQUAL "llama.cpp")
    cmake_language(DEFER CALL set_source_files_properties ${CMAKE_SOURCE_DIR}/ggml/src/ggml-cpu/amx/mmq.cpp
        DIRECTORY ${CMAKE_SOURCE_DIR}/ggml/src
        PROPERTIES COMPILE_OPTIONS $<$<CXX_COMPILER_ID:GNU>:-fno-dse>)
endif()
