module gpu-go

go 1.25
